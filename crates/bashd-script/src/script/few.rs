//! A list of mostly one: the parts of a word, and the pieces that they are made of.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A list that keeps an only item in itself. Lists of words are long, and the lists in them short.
#[derive(Clone)]
pub struct Few<T>(FewItems<T>);

#[derive(Clone)]
enum FewItems<T> {
    None,
    One(T),
    Many(Vec<T>),
}

impl<T> Few<T> {
    /// A list of this one item.
    pub fn one(item: T) -> Self {
        Self(FewItems::One(item))
    }

    /// Adds an item.
    pub fn push(&mut self, item: T) {
        if let FewItems::Many(items) = &mut self.0 {
            items.push(item);
            return;
        }
        self.0 = match std::mem::replace(&mut self.0, FewItems::None) {
            FewItems::One(first) => FewItems::Many(vec![first, item]),
            FewItems::None | FewItems::Many(_) => FewItems::One(item),
        };
    }

    /// Removes every item.
    pub(super) fn clear(&mut self) {
        self.0 = FewItems::None;
    }

    /// The list of what is made of each item.
    pub(super) fn map<U>(self, make: impl FnMut(T) -> U) -> Few<U> {
        let mut make = make;
        Few(match self.0 {
            FewItems::None => FewItems::None,
            FewItems::One(item) => FewItems::One(make(item)),
            FewItems::Many(items) => FewItems::Many(items.into_iter().map(make).collect()),
        })
    }
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(FewItems::None)
    }
}

impl<T> From<Vec<T>> for Few<T> {
    fn from(items: Vec<T>) -> Self {
        Self(match <[T; 1]>::try_from(items) {
            Ok([item]) => FewItems::One(item),
            Err(items) => FewItems::Many(items),
        })
    }
}

impl<T> From<Few<T>> for Vec<T> {
    fn from(few: Few<T>) -> Self {
        match few.0 {
            FewItems::None => Self::new(),
            FewItems::One(item) => vec![item],
            FewItems::Many(items) => items,
        }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            FewItems::None => &[],
            FewItems::One(item) => std::slice::from_ref(item),
            FewItems::Many(items) => items,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            FewItems::None => &mut [],
            FewItems::One(item) => std::slice::from_mut(item),
            FewItems::Many(items) => items,
        }
    }
}

impl<T> Extend<T> for Few<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.push(item);
        }
    }
}

impl<'a, T> IntoIterator for &'a Few<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Few<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T: PartialEq> PartialEq for Few<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Few<T> {}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut few = Few::default();
        let mut list = Vec::new();
        for number in 0..4 {
            assert_eq!(&*few, list.as_slice());
            assert_eq!(few, Few::from(list.clone()));
            assert_eq!(Vec::from(few.clone()), list);
            assert_eq!(format!("{few:?}"), format!("{list:?}"));
            let doubled: Vec<_> = list.iter().map(|item| item * 2).collect();
            assert_eq!(&*few.clone().map(|item| item * 2), doubled.as_slice());
            few.push(number);
            list.push(number);
        }
        for item in &mut few {
            *item += 1;
        }
        assert_eq!(&*few, [1, 2, 3, 4]);
        few.clear();
        few.extend([7]);
        assert_eq!(few, Few::one(7));
    }
}
