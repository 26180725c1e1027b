//! What the grouping of digits alone says.

use super::super::cluster::{Cluster, Gap, Left};
use super::{Lead, Sign};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    No,
    /// Nothing else is written so.
    Sure(&'static str),
    /// A country writes its numbers so.
    Likely(&'static str),
    /// Grouped, as other numbers are too.
    Weak,
    /// Digits in a row, or too few of them: only a plain word for phones makes it one.
    Bare,
}

/// The form of the first groups.
pub(super) fn of(text: &[u8], cluster: &Cluster, groups: usize, lead: &Lead) -> Form {
    let number = Number { text, cluster, groups };
    match lead.sign {
        Sign::Plus => number.international(),
        Sign::Bracket if groups > 1 && cluster.groups()[1].gap == Gap::Close => number.bracketed(),
        // A form made of spaces does not begin in the midst of other numbers.
        Sign::None if lead.left == Left::Spaced && number.spaced() => Form::No,
        Sign::Bracket | Sign::None => number.national(),
    }
}

struct Number<'a> {
    text: &'a [u8],
    cluster: &'a Cluster,
    groups: usize,
}

impl Number<'_> {
    fn digits(&self) -> &[u8] {
        self.cluster.digits(self.groups)
    }

    fn sizes_are(&self, sizes: &[usize]) -> bool {
        self.cluster.sizes_are(self.groups, sizes)
    }

    fn gaps_are(&self, gap: Gap) -> bool {
        self.cluster.gaps_are(self.groups, gap)
    }

    fn spaced(&self) -> bool {
        self.cluster.groups()[1..self.groups].iter().any(|g| g.gap == Gap::Space)
    }

    fn size(&self, group: usize) -> usize {
        self.cluster.groups()[group].len()
    }

    fn gap(&self, group: usize) -> Gap {
        self.cluster.groups()[group].gap
    }

    fn international(&self) -> Form {
        let digits = self.digits();
        let fits = match digits[0] {
            0 => false,
            1 => digits.len() == 11,
            _ if self.groups == 1 => (9..=15).contains(&digits.len()),
            // Fewer after the first group are the month and day of a distant year.
            _ => (8..=14).contains(&digits.len()) && digits.len() - self.size(0) >= 5,
        };
        let empty = digits[1..].iter().all(|d| *d == 0) || self.thousands();
        if fits && !empty && self.size(0) <= 13 {
            Form::Sure("a plus, a country and a number")
        } else {
            Form::No
        }
    }

    /// `(37) 788-063`.
    fn bracketed(&self) -> Form {
        let (area, count) = (self.size(0), self.digits().len());
        let year = area == 4 && matches!(self.cluster.value(self.text, 0), 1900..=2099);
        let rest = (1..self.groups).all(|group| (2..=8).contains(&self.size(group)));
        if year || !rest || !(2..=5).contains(&area) || !(7..=12).contains(&count) || self.groups > 5 {
            return Form::No;
        }
        if count >= 8 { Form::Sure("an area in brackets and a number") } else { Form::Weak }
    }

    fn national(&self) -> Form {
        if self.dated() || self.years() {
            return Form::No;
        }
        if self.groups == 1 {
            return self.bare();
        }
        self.countries().unwrap_or_else(|| self.grouped())
    }

    fn countries(&self) -> Option<Form> {
        self.north_america().or_else(|| self.trunk()).or_else(|| self.others())
    }

    /// `212-555-0123`, with or without a 1.
    fn north_america(&self) -> Option<Form> {
        let from = usize::from(self.size(0) == 1 && matches!(self.digits()[0], 1));
        let sizes: &[usize] = if from == 1 { &[1, 3, 3, 4] } else { &[3, 3, 4] };
        if !self.sizes_are(sizes) {
            return None;
        }
        let digits = &self.digits()[from..];
        let opened = self.groups == 4 && self.gap(1) == Gap::Open;
        let even = opened
            || self.gaps_are(Gap::Hyphen)
            || self.gaps_are(Gap::Dot)
            || (from == 1 && self.gap(3) == Gap::Hyphen);
        let spaced = self.gaps_are(Gap::Space) || (self.gap(1) == Gap::Space && self.gap(2) == Gap::Hyphen);
        let plausible = digits[0] >= 2;
        let strict = plausible && digits[3] >= 2;
        let opening = digits[0] == 0 && digits[1] != 0;
        ((even && (plausible || opening)) || (spaced && (strict || opening)))
            .then_some(Form::Likely("grouped as in North America"))
    }

    /// A leading nought, as most countries dial within themselves; two noughts, as they dial abroad.
    fn trunk(&self) -> Option<Form> {
        let digits = self.digits();
        let abroad = digits[0] == 0 && digits[1] == 0 && digits[2] != 0;
        let rest = (1..self.groups).all(|group| (2..=8).contains(&self.size(group)));
        if abroad {
            let rest = rest || self.groups >= 4;
            return (rest && (11..=17).contains(&digits.len()) && self.size(0) <= 6)
                .then_some(Form::Likely("dialled abroad with two noughts"));
        }
        let opens = digits[0] == 0 && digits[1] != 0 && (2..=5).contains(&self.size(0));
        let dots = self.gaps_are(Gap::Dot) && self.groups < 3;
        let fits = (9..=12).contains(&digits.len()) && self.groups <= 6;
        (opens && rest && fits && !dots).then_some(Form::Likely("a leading nought, grouped"))
    }

    /// Forms of single countries that nothing else shares.
    fn others(&self) -> Option<Form> {
        let digits = self.digits();
        let first = digits[0];
        let (space, hyphen) = (self.gaps_are(Gap::Space), self.gaps_are(Gap::Hyphen));
        let found = (self.sizes_are(&[2, 2, 2, 2]) && hyphen && first >= 2)
            || (self.sizes_are(&[3, 3, 3])
                && (space || hyphen)
                && matches!(first, 6 | 7 | 9)
                && !digits.ends_with(&[0, 0, 0]))
            || (self.sizes_are(&[1, 3, 3, 2, 2]) && first == 8 && self.gap(4) != Gap::Dot)
            || (self.sizes_are(&[3, 4, 4]) && (space || hyphen) && first == 1 && digits[1] >= 3)
            || (self.sizes_are(&[4, 3, 3])
                && (space || hyphen)
                && matches!(digits[..4], [1, 3 | 8, 0, 0] | [1, 9, 0, 0]))
            || (self.groups >= 3 && self.sizes_are(&[2, 3, 2, 2]) && hyphen)
            || (self.sizes_are(&[3, 3, 2, 2]) && hyphen);
        found.then_some(Form::Likely("grouped as in one country"))
    }

    fn grouped(&self) -> Form {
        let count = self.digits().len();
        let slashes = self.cluster.groups()[1..self.groups].iter().any(|g| g.gap == Gap::Slash);
        let singles = (0..self.groups).filter(|group| self.size(*group) == 1).count();
        let dots = self.gaps_are(Gap::Dot) && self.groups < 3;
        if slashes || dots || singles > 1 || count > 14 || self.size(0) > 8 || self.postal() {
            return Form::No;
        }
        match count {
            6 if self.sizes_are(&[2, 2, 2]) || self.sizes_are(&[3, 3]) => Form::Bare,
            9 if self.sizes_are(&[5, 4]) => Form::Bare,
            7.. => Form::Weak,
            _ => Form::No,
        }
    }

    fn bare(&self) -> Form {
        let digits = self.digits();
        match digits.len() {
            // Seconds since 1970 as of these decades; no country's numbers of ten digits begin so.
            10 if digits[0] == 1 && digits[1] >= 4 => Form::No,
            9..=11 => Form::Weak,
            7 | 8 | 12 | 13 => Form::Bare,
            _ => Form::No,
        }
    }

    /// `12345-6789`, `3610-114`: postal codes.
    fn postal(&self) -> bool {
        self.gaps_are(Gap::Hyphen)
            && (self.sizes_are(&[5, 4]) || self.sizes_are(&[5, 3]) || self.sizes_are(&[4, 3]))
    }

    /// `1 000 000`: thousands set apart by spaces, ending in noughts.
    fn thousands(&self) -> bool {
        let threes = (1..self.groups).all(|group| self.size(group) == 3);
        self.groups > 1 && threes && self.gaps_are(Gap::Space) && self.digits().ends_with(&[0, 0, 0])
    }

    /// `1990-2000`.
    fn years(&self) -> bool {
        let year = |group| matches!(self.cluster.value(self.text, group), 1900..=2099);
        self.sizes_are(&[4, 4]) && year(0) && year(1)
    }

    /// The first three groups are a day, or the number begins as one does.
    fn dated(&self) -> bool {
        if self.cluster.len() < 3 || self.groups < 3 {
            return false;
        }
        let gap = self.gap(1);
        if gap != self.gap(2) || !matches!(gap, Gap::Hyphen | Gap::Dot | Gap::Slash) {
            return false;
        }
        let value = |group| self.cluster.value(self.text, group);
        let day = |group: usize| self.size(group) <= 2 && (1..=31).contains(&value(group));
        let year = |group: usize| self.size(group) == 4 && matches!(value(group), 1800..=2199);
        let short = self.groups == 3 && day(0) && day(1) && self.size(2) == 2;
        (year(0) && day(1) && day(2)) || (day(0) && day(1) && year(2)) || short
    }
}
