//! Single messages, with and without secrets, for whatever takes secrets out of text.

use std::ops::Range;

use crate::ink::Mark;
use crate::pen::Pen;
use crate::rng::Rng;
use crate::template::templates;
use crate::tokens::Deck;

const MESSAGES: &str = include_str!("../templates/chat.txt");

/// A message, and where in it the secrets stand, in bytes and in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub text: String,
    pub planted: Vec<Range<usize>>,
}

/// So many messages. Each template comes once, in a drawn order, before any comes again.
pub fn chat(seed: u64, n: usize) -> Vec<Message> {
    let all = templates(MESSAGES);
    let mut rng = Rng::new(seed).child("chat");
    let mut deck = Deck::new(rng.child("deck"));
    let mut order: Vec<usize> = Vec::new();
    let mut messages = Vec::with_capacity(n);
    for number in 0..n {
        if order.is_empty() {
            order.extend(0..all.len());
            rng.shuffle(&mut order);
        }
        let template = &all[order.pop().unwrap_or_default()];
        let pen = Pen::new(rng.child(&format!("message {number}")), &mut deck);
        let (text, spots) = pen.write(template);
        let secrets = spots.into_iter().filter(|spot| matches!(spot.mark, Mark::Secret(_)));
        messages.push(Message {
            text: text.trim_end().to_owned(),
            planted: secrets.map(|spot| spot.range).collect(),
        });
    }
    messages
}
