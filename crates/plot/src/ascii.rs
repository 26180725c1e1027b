//! The fallback for terminals that know nothing but ASCII: every drawn character has one of the same width.

/// What stands for a character where only ASCII can be shown. Never wider than the character itself.
pub(crate) fn stand_in(c: char) -> char {
    match c {
        ' '..='~' => c,
        '●' => 'o',
        '◐' => '%',
        '▲' => '!',
        '↩' => '<',
        '✕' => 'x',
        '‖' => '=',
        '○' => '?',
        '▪' => '#',
        '◦' => '_',
        '·' | '–' | '−' | '╌' | '—' => '-',
        '…' => '~',
        '→' => '>',
        '┊' | '▏' => '|',
        '█' => '#',
        '░' => '.',
        '≥' => '>',
        '≤' => '<',
        '±' => '+',
        '▁' => '_',
        '▂' => '.',
        '▃' => ',',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '\u{2800}'..='\u{28ff}' => braille(c),
        _ => '?',
    }
}

/// Dots of the upper half, of the lower half, or of both.
fn braille(c: char) -> char {
    // Bits of the dots in the two upper rows of a braille cell; the others are in the two lower rows.
    const UPPER: u32 = 0b0001_1011;
    let dots = u32::from(c) - 0x2800;
    match (dots & UPPER != 0, dots & !UPPER != 0) {
        (false, false) => ' ',
        (true, false) => '\'',
        (false, true) => '.',
        (true, true) => ':',
    }
}
