//! The filter of system calls, as the program the kernel runs before each one.
//!
//! Numbers are found by halving, so a call costs a few comparisons; most kernels remember that a number is always let
//! through and run nothing at all. A call that is not granted is told to the launcher, which writes it down and refuses
//! it, or is refused by the kernel itself where it cannot tell.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::calls::{Calls, Condition};

/// One instruction of the kernel's filter language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    pub code: u16,
    pub then: u8,
    pub otherwise: u8,
    pub value: u32,
}

/// A filter, ready for the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    pub program: Vec<Instruction>,
    /// Whether refused calls are told to the launcher.
    pub told: bool,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const TELL: u32 = 0x7fc0_0000;
const ERROR: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;

/// Where the kernel puts what is asked: the number, the kind of machine, and the arguments, eight bytes each.
const NUMBER_AT: u32 = 0;
const MACHINE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

#[cfg(target_arch = "x86_64")]
const MACHINE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const MACHINE: u32 = 0xc000_00b7;

/// Numbers from here on belong to another way of calling the same kernel; nobody here uses it.
const OTHER_WAY: u32 = 0x4000_0000;

/// How a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow,
    /// Told to the launcher, which refuses it.
    Told,
    /// Refused with an error number.
    Error(u16),
    /// The whole program ends.
    Kill,
}

impl Answer {
    fn action(self) -> u32 {
        match self {
            Answer::Allow => ALLOW,
            Answer::Told => TELL,
            Answer::Error(number) => ERROR | u32::from(number),
            Answer::Kill => KILL,
        }
    }
}

/// A stretch of numbers that are answered alike.
#[derive(Clone, Debug)]
enum Stretch {
    Plain(Answer),
    Asked(Vec<Condition>),
}

impl Filter {
    /// A filter that grants these calls, and refuses all others.
    pub fn granting(granted: &BTreeSet<u32>, calls: &Calls, told: bool) -> Filter {
        let refused = if told { Answer::Told } else { Answer::Error(libc::EPERM as u16) };
        let mut stretches: BTreeMap<u32, Stretch> = BTreeMap::new();
        stretches.insert(0, Stretch::Plain(refused));
        let highest = crate::calls::numbers().map(|(_, number)| number).max().unwrap_or(0);
        for number in 0..=highest {
            let answer = if calls.absent().contains(&number) {
                Stretch::Plain(Answer::Error(libc::ENOSYS as u16))
            } else if !granted.contains(&number) {
                Stretch::Plain(refused)
            } else if calls.conditions(number).is_empty() {
                Stretch::Plain(Answer::Allow)
            } else {
                Stretch::Asked(calls.conditions(number).to_vec())
            };
            let same = match (stretches.values().next_back(), &answer) {
                (Some(Stretch::Plain(last)), Stretch::Plain(this)) => last == this,
                _ => false,
            };
            if !same {
                stretches.insert(number, answer);
            }
        }
        // Newer than this program: as a kernel answers that does not have it.
        stretches.insert(highest + 1, Stretch::Plain(Answer::Error(libc::ENOSYS as u16)));
        let mut writer = Writer { program: Vec::new(), refused };
        writer.opening();
        let stretches: Vec<(u32, Stretch)> = stretches.into_iter().collect();
        writer.search(&stretches);
        Filter { program: writer.program, told }
    }

    /// What the filter answers, worked out as the kernel does.
    #[cfg(test)]
    pub(crate) fn answers(&self, machine: u32, number: u32, arguments: &[u64; 6]) -> Answer {
        let word = |at: u32| match at {
            NUMBER_AT => number,
            MACHINE_AT => machine,
            at => (arguments[((at - ARGUMENTS_AT) / 8) as usize] >> ((at - ARGUMENTS_AT) % 8 * 8)) as u32,
        };
        let (mut at, mut held) = (0, 0u32);
        loop {
            let step = self.program[at];
            at += 1;
            let jump = |taken: bool| usize::from(if taken { step.then } else { step.otherwise });
            match step.code {
                LOAD => held = word(step.value),
                AND => held &= step.value,
                JUMP => at += step.value as usize,
                EQUAL => at += jump(held == step.value),
                AT_LEAST => at += jump(held >= step.value),
                ANY_BIT => at += jump(held & step.value != 0),
                _ => {
                    return match step.value {
                        ALLOW => Answer::Allow,
                        TELL => Answer::Told,
                        KILL => Answer::Kill,
                        error => Answer::Error(error as u16),
                    };
                }
            }
        }
    }
}

struct Writer {
    program: Vec<Instruction>,
    refused: Answer,
}

impl Writer {
    fn put(&mut self, code: u16, value: u32, then: u8, otherwise: u8) {
        self.program.push(Instruction { code, then, otherwise, value });
    }

    fn answer(&mut self, answer: Answer) {
        self.put(RETURN, answer.action(), 0, 0);
    }

    fn opening(&mut self) {
        self.put(LOAD, MACHINE_AT, 0, 0);
        self.put(EQUAL, MACHINE, 1, 0);
        self.answer(Answer::Kill);
        self.put(LOAD, NUMBER_AT, 0, 0);
        self.put(AT_LEAST, OTHER_WAY, 0, 1);
        self.answer(Answer::Kill);
    }

    /// Halves the stretches until one is left.
    fn search(&mut self, stretches: &[(u32, Stretch)]) {
        match stretches {
            [] => self.answer(self.refused),
            [(_, Stretch::Plain(answer))] => self.answer(*answer),
            [(_, Stretch::Asked(conditions))] => self.asked(conditions),
            _ => {
                let (low, high) = stretches.split_at(stretches.len() / 2);
                // A jump with a condition reaches 255 instructions; one without reaches any.
                self.put(AT_LEAST, high[0].0, 0, 1);
                let jump = self.program.len();
                self.put(JUMP, 0, 0, 0);
                self.search(low);
                self.program[jump].value = (self.program.len() - jump - 1) as u32;
                self.search(high);
            }
        }
    }

    fn asked(&mut self, conditions: &[Condition]) {
        for condition in conditions {
            let mut inner = Writer { program: Vec::new(), refused: self.refused };
            inner.question(condition);
            // Where it does not apply, the question is jumped over.
            if let Some(when) = condition.when {
                self.load(when.argument, when.mask);
                self.put(EQUAL, when.is, 1, 0);
                self.put(JUMP, inner.program.len() as u32, 0, 0);
            }
            self.program.append(&mut inner.program);
        }
        self.answer(Answer::Allow);
    }

    /// Refuses, or falls through to what follows.
    fn question(&mut self, condition: &Condition) {
        self.load(condition.argument, condition.mask);
        for (left, value) in (0..condition.one_of.len()).rev().zip(&condition.one_of) {
            // Past the other values and the refusal.
            self.put(EQUAL, *value, left as u8 + 1, 0);
        }
        if !condition.one_of.is_empty() {
            self.answer(self.refused);
        }
        for value in &condition.none_of {
            self.put(EQUAL, *value, 0, 1);
            self.answer(self.refused);
        }
        if condition.without_bits != 0 {
            self.put(ANY_BIT, condition.without_bits, 0, 1);
            self.answer(self.refused);
        }
    }

    fn load(&mut self, argument: u8, mask: u32) {
        self.put(LOAD, ARGUMENTS_AT + 8 * u32::from(argument), 0, 0);
        if mask != u32::MAX {
            self.put(AND, mask, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::calls::{number_of, numbers};

    fn granted(groups: &[&str]) -> BTreeSet<u32> {
        groups.iter().flat_map(|name| Calls::builtin().group(name).unwrap().iter().copied()).collect()
    }

    /// What the data says, without a program.
    fn expected(granted: &BTreeSet<u32>, number: u32, arguments: &[u64; 6]) -> Answer {
        let calls = Calls::builtin();
        if calls.absent().contains(&number) || number > numbers().map(|(_, n)| n).max().unwrap() {
            return Answer::Error(libc::ENOSYS as u16);
        }
        let holds = calls.conditions(number).iter().all(|condition| condition.holds(arguments));
        if granted.contains(&number) && holds { Answer::Allow } else { Answer::Told }
    }

    #[test]
    fn every_number_is_answered_as_the_data_says() {
        for groups in [&["plain"][..], &["plain", "sockets"], &[]] {
            let granted = granted(groups);
            let filter = Filter::granting(&granted, Calls::builtin(), true);
            assert!(filter.program.len() < 4096, "the kernel takes no more");
            for number in 0..1000 {
                let arguments = [0; 6];
                let said = filter.answers(MACHINE, number, &arguments);
                assert_eq!(said, expected(&granted, number, &arguments), "{number}");
            }
        }
    }

    #[test]
    fn another_machines_calls_and_the_other_way_of_calling_end_the_program() {
        let filter = Filter::granting(&granted(&["plain"]), Calls::builtin(), true);
        assert_eq!(filter.answers(0x4000_0003, 1, &[0; 6]), Answer::Kill, "thirty-two bits");
        assert_eq!(filter.answers(MACHINE, OTHER_WAY | 1, &[0; 6]), Answer::Kill);
        assert_eq!(filter.answers(MACHINE, u32::MAX, &[0; 6]), Answer::Kill);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]
        #[test]
        fn whatever_the_arguments_the_program_says_what_the_data_says(
            index in 0usize..12,
            small in prop::array::uniform6(0u64..64),
            wild in prop::array::uniform6(any::<u64>()),
            bits in any::<u8>(),
        ) {
            let asked = [
                "clone", "socket", "socketpair", "ioctl", "personality", "mknod", "mknodat", "read", "openat", "open",
                "chmod", "setsockopt",
            ];
            let number = number_of(asked[index]).unwrap();
            let mut arguments = small.map(|number| if number > 48 { [1, 2, 6, 10, 16, 17, 31, 262][number as usize % 8] } else { number });
            (0..6).filter(|i| bits >> i & 1 == 1).for_each(|i| arguments[i] = wild[i]);
            if bits >> 6 & 1 == 1 {
                arguments[1] = [0x5412, 0x541c, 0x540e, 3 | 0o2_000_000][small[5] as usize % 4];
            }
            let granted = granted(&["plain", "sockets"]);
            let filter = Filter::granting(&granted, Calls::builtin(), true);
            prop_assert_eq!(filter.answers(MACHINE, number, &arguments), expected(&granted, number, &arguments));
        }
    }
}
