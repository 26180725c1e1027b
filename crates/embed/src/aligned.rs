//! Numbers that begin where a cache line begins, so that no wide load touches two lines.

/// A cache line of numbers.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line([f32; Line::LEN]);

impl Line {
    const LEN: usize = 16;
}

/// A fixed number of numbers, aligned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
}

impl Aligned {
    pub(crate) fn zeros(len: usize) -> Aligned {
        Aligned { lines: vec![Line([0.0; Line::LEN]); len.div_ceil(Line::LEN)] }
    }

    /// Room for so many; what was in it is lost when it has to grow.
    pub(crate) fn at_least(&mut self, len: usize) {
        if self.len() < len {
            *self = Aligned::zeros(len);
        }
    }

    /// How many there is room for: what was asked for, rounded up to whole lines.
    pub(crate) fn len(&self) -> usize {
        self.lines.len() * Line::LEN
    }

    pub(crate) fn set(&mut self, at: usize, value: f32) {
        self.lines[at / Line::LEN].0[at % Line::LEN] = value;
    }

    pub(crate) fn as_ptr(&self) -> *const f32 {
        self.lines.as_ptr().cast()
    }

    pub(crate) fn as_mut_ptr(&mut self) -> *mut f32 {
        self.lines.as_mut_ptr().cast()
    }
}

impl From<&[f32]> for Aligned {
    fn from(values: &[f32]) -> Aligned {
        let mut it = Aligned::zeros(values.len());
        values.iter().enumerate().for_each(|(at, value)| it.set(at, *value));
        it
    }
}
