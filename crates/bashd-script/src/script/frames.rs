//! What is open around a command in the scan: compound commands, subshells, bodies of functions.

use super::reader::{Expects, FrameKind, MOST_DEPTH, ScriptReader};
use super::view::{Bound, CommandPlace, Construct, Joint};

/// A compound command that is open.
pub(super) struct CompoundFrame {
    pub(super) kind: FrameKind,
    pub(super) around: CommandPlace,
    list_start: usize,
    /// The function whose body it is.
    function: Option<usize>,
}

impl ScriptReader<'_> {
    /// Reads something nested, unless that is too deep.
    pub(super) fn nested(&mut self, construct: Construct, read: impl FnOnce(&mut Self)) {
        if self.depth >= MOST_DEPTH {
            self.give_up(Bound::Depth);
            return;
        }
        let (place, list_start, expects) = (self.place, self.list_start, self.expects);
        self.expects = Expects::MayCome;
        self.enter(construct);
        self.depth += 1;
        read(self);
        self.depth -= 1;
        (self.place, self.list_start, self.expects) = (place, list_start, expects);
    }

    fn enter(&mut self, construct: Construct) {
        self.constructs = self.constructs.with(construct);
        let mut inside = self.place.inside.with(construct);
        let mut has_scope = matches!(construct, Construct::Subshell | Construct::Substitution);
        if std::mem::take(&mut self.function_comes) {
            inside = inside.with(Construct::Function);
            has_scope = true;
        }
        if has_scope {
            self.scopes.push(self.place.scope);
            self.place.scope = self.scopes.len() as u32 - 1;
        }
        self.place = CommandPlace {
            pipeline: self.next_pipeline(),
            stage: 0,
            joint: Joint::First,
            inside,
            ..self.place
        };
        self.list_start = self.commands.len();
    }

    pub(super) fn open_frame(&mut self, kind: FrameKind, construct: Construct) {
        self.frames.push(CompoundFrame {
            kind,
            around: self.place,
            list_start: self.list_start,
            function: self.coming_function(),
        });
        self.enter(construct);
        self.expects = Expects::MayCome;
    }

    pub(super) fn close_frame(&mut self) {
        if let Some(frame) = self.frames.pop() {
            (self.place, self.list_start) = (frame.around, frame.list_start);
            self.end_function(frame.function);
            self.is_sound &= self.expects != Expects::MustCome;
            self.command_came();
        }
    }

    /// The function whose body comes next, if one does.
    pub(super) fn coming_function(&self) -> Option<usize> {
        let last = self.function_bodies.len().checked_sub(1);
        last.filter(|_| self.function_comes)
    }

    /// The body of this function ends here.
    pub(super) fn end_function(&mut self, function: Option<usize>) {
        let position = self.position;
        if let Some(body) = function.and_then(|index| self.function_bodies.get_mut(index)) {
            body.span.end = position;
        }
    }
}
