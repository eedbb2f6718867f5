//! A resolver for programs that know of no proxy: each name that may be connected to gets an
//! address of its own, from a range that nobody uses. All other names do not exist.

use crate::hosts::plain_name;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// Where the addresses begin: 198.18.0.0/15 is for tests of networks.
const FIRST: u32 = Ipv4Addr::new(198, 18, 0, 1).to_bits();

/// Most names that get one.
const MOST_NAMES: usize = 65_536;

/// Seconds for which an answer may be kept.
const KEPT: u32 = 60;

const HEADER: usize = 12;
const TYPE_A: u16 = 1;
const TYPE_ANY: u16 = 255;
const NO_ERROR: u8 = 0;
const SERVER_FAILURE: u8 = 2;
const NO_SUCH_NAME: u8 = 3;

/// The names that were asked for, by the addresses that they got.
#[derive(Default)]
pub(super) struct GivenNames {
    by_name: HashMap<String, u32>,
    names: Vec<String>,
}

impl GivenNames {
    /// The name that has this address.
    pub(super) fn name_of(&self, address: Ipv4Addr) -> Option<&str> {
        let index = address.to_bits().checked_sub(FIRST)?;
        let index = usize::try_from(index).ok()?;
        self.names.get(index).map(String::as_str)
    }

    fn address_of(&mut self, name: &str) -> Option<Ipv4Addr> {
        if let Some(index) = self.by_name.get(name) {
            return Some(Ipv4Addr::from_bits(FIRST + index));
        }
        if self.names.len() >= MOST_NAMES {
            return None;
        }
        let index = u32::try_from(self.names.len()).ok()?;
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), index);
        Some(Ipv4Addr::from_bits(FIRST + index))
    }

    /// The answer to a query, and the name that was refused, if it was one. `None` if it is no
    /// query.
    pub(super) fn answer(
        &mut self,
        query: &[u8],
        is_known: impl FnOnce(&str) -> bool,
    ) -> Option<(Vec<u8>, Option<String>)> {
        let question = NameQuestion::parse(query)?;
        let name = plain_name(&question.name);
        let Some(name) = name.filter(|name| is_known(name)) else {
            // A search for an address is a search for its name: no connection.
            let wants_address = matches!(question.kind, TYPE_A | TYPE_ANY);
            let refused = wants_address.then_some(question.name.clone());
            return Some((question.reply(query, NO_SUCH_NAME, None), refused));
        };
        if !matches!(question.kind, TYPE_A | TYPE_ANY) {
            return Some((question.reply(query, NO_ERROR, None), None));
        }
        let reply = match self.address_of(&name) {
            Some(address) => question.reply(query, NO_ERROR, Some(address)),
            None => question.reply(query, SERVER_FAILURE, None),
        };
        Some((reply, None))
    }
}

/// The one question of a query.
struct NameQuestion {
    name: String,
    kind: u16,
    /// Where it ends in the query.
    end: usize,
}

impl NameQuestion {
    fn parse(query: &[u8]) -> Option<Self> {
        let is_query = query.get(2)? & 0xf8 == 0;
        if !is_query || query.get(4..6)? != [0, 1] {
            return None;
        }
        let mut name = String::new();
        let mut at = HEADER;
        loop {
            let length = usize::from(*query.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            let label = query.get(at..at + length).filter(|_| length < 64)?;
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&String::from_utf8_lossy(label));
            at += length;
        }
        let kind = u16::from_be_bytes([*query.get(at)?, *query.get(at + 1)?]);
        let end = at + 4;
        query.get(..end)?;
        Some(Self { name, kind, end })
    }

    fn reply(&self, query: &[u8], code: u8, address: Option<Ipv4Addr>) -> Vec<u8> {
        let mut reply = query.get(..self.end).unwrap_or_default().to_vec();
        let asked = query.get(2).copied().unwrap_or(0) & 0x01;
        let answers = u8::from(address.is_some());
        let counts = [0, 1, 0, answers, 0, 0, 0, 0];
        let flags = [0x84 | asked, 0x80 | code];
        for (place, byte) in reply
            .iter_mut()
            .skip(2)
            .zip(flags.into_iter().chain(counts))
        {
            *place = byte;
        }
        if let Some(address) = address {
            // The name is that of the question; an address of the internet.
            reply.extend([0xc0, 0x0c, 0, 1, 0, 1]);
            reply.extend(KEPT.to_be_bytes());
            reply.extend([0, 4]);
            reply.extend(address.octets());
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut query = vec![0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            query.push(label.len() as u8);
            query.extend(label.bytes());
        }
        query.push(0);
        query.extend(kind.to_be_bytes());
        query.extend([0, 1]);
        query
    }

    #[test]
    fn a_known_name_gets_an_address_and_others_do_not_exist() {
        let mut names = GivenNames::default();
        let known = |name: &str| name == "a.test";
        let (reply, refused) = names.answer(&query("A.test", 1), known).unwrap();
        assert_eq!(refused, None);
        assert_eq!(&reply[..4], [0xab, 0xcd, 0x85, 0x80]);
        assert_eq!(&reply[reply.len() - 4..], [198, 18, 0, 1]);
        assert_eq!(names.name_of(Ipv4Addr::new(198, 18, 0, 1)), Some("a.test"));
        assert_eq!(names.name_of(Ipv4Addr::new(198, 18, 0, 2)), None);
        assert_eq!(names.name_of(Ipv4Addr::new(1, 1, 1, 1)), None);
        // The newer kind of address: there is none, and the name exists.
        let (reply, refused) = names.answer(&query("a.test", 28), known).unwrap();
        assert_eq!((reply[3] & 15, reply[7], refused), (0, 0, None));
        let (reply, refused) = names.answer(&query("b.test", 1), known).unwrap();
        assert_eq!((reply[3] & 15, reply[7]), (3, 0));
        assert_eq!(refused.as_deref(), Some("b.test"));
        let (_, refused) = names.answer(&query("b.test", 28), known).unwrap();
        assert_eq!(refused, None, "one lookup is told once");
    }

    #[test]
    fn what_is_no_query_gets_no_answer() {
        let mut names = GivenNames::default();
        let good = query("a.test", 1);
        for end in 0..good.len() {
            assert!(names.answer(&good[..end], |_| true).is_none(), "{end}");
        }
        let mut answer = good.clone();
        answer[2] |= 0x80;
        assert!(names.answer(&answer, |_| true).is_none());
        let mut pointer = good;
        pointer[HEADER] = 0xc0;
        assert!(names.answer(&pointer, |_| true).is_none());
    }
}
