//! Disguises for a secret: other ways to write it that a normal consumer undoes by itself, for attacks on whatever takes
//! secrets out of text.
//!
//! Begin with [`all`]. A disguise is a pure function from a secret (printable ASCII, or PEM with its line breaks) to text
//! that looks the same when shown, is equal after normalisation, or is decoded by a documented decoder. [`held_out`] is
//! a family kept apart for one measurement: who tunes a redactor reads neither its source nor its output.
//!
//! What holds: equal secrets give equal text. A secret of letters and digits always comes out changed, except by a few
//! disguises that know no form for any of its characters (look-alikes, for instance); then it comes out as it went in,
//! and the caller passes over it.
//!
//! Absent on purpose: ciphers, compression, the less usual bases, and any knowledge of a redactor's rules.

mod alphabets;
mod bytes;
mod escapes;
mod forms;
mod held_out;
mod invisible;
mod joins;
mod layers;
mod mail;
mod markup;
mod place;
mod terminal;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod undo;

pub use held_out::held_out;

/// One way to write a secret.
#[derive(Clone, Copy, Debug)]
pub struct Disguise {
    /// Says what is done and where; no two are called alike.
    pub name: &'static str,
    pub family: &'static str,
    pub put_on: fn(&str) -> String,
}

/// All but the family held out.
pub fn all() -> Vec<Disguise> {
    [
        invisible::all(),
        alphabets::all(),
        escapes::all(),
        markup::all(),
        mail::all(),
        bytes::all(),
        terminal::all(),
        joins::all(),
        layers::all(),
    ]
    .concat()
}
