//! United States social security numbers: `078-05-1120` anywhere, nine digits or spaces where the words say so.
//!
//! Area 000, group 00 and serial 0000 were never given out and are let be. Areas 666 and 9xx were not either, but people
//! make such numbers up and mean them; a 9xx number that is a taxpayer number (ITIN) is told as that.

use super::cluster::{Cluster, Gap, Left, ends, left};
use super::context::{self, Words};
use crate::hit::{Hit, Known};

static WORDS: Words = Words::new(&[
    "ssn",
    "ssns",
    "social security",
    "socialsecurity*",
    "social_security*",
    "soc sec",
    "social",
]);

pub(super) fn judge(text: &[u8], cluster: &Cluster, out: &mut Vec<Hit>) -> Option<usize> {
    let (groups, sure) = layout(cluster)?;
    let (start, end) = (cluster.groups()[0].start, cluster.groups()[groups - 1].end);
    let bounded = matches!(left(text, start), Left::Clean | Left::Spaced) && ends(text, end);
    if !bounded || !issued(cluster.digits(groups)) {
        return None;
    }
    if !sure && !context::says(text, start, &WORDS) {
        return None;
    }
    let (known, reason) = if taxpayer(cluster.digits(groups)) {
        (Known::NationalId("us_itin"), "nine digits in the range of taxpayer numbers, 3-2-4")
    } else {
        (Known::Ssn, "nine digits, 3-2-4")
    };
    out.push(Hit { known, start, end, confidence: if sure { 90 } else { 85 }, reason });
    Some(end)
}

/// How many groups make it up, and whether the form alone is enough.
fn layout(cluster: &Cluster) -> Option<(usize, bool)> {
    if cluster.len() >= 3 && cluster.sizes_are(3, &[3, 2, 4]) {
        let hyphens = cluster.gaps_are(3, Gap::Hyphen);
        let spaces = cluster.gaps_are(3, Gap::Space) || cluster.gaps_are(3, Gap::Dot);
        return (hyphens || spaces).then_some((3, hyphens));
    }
    cluster.sizes_are(1, &[9]).then_some((1, false))
}

fn issued(digits: &[u8]) -> bool {
    digits[..3] != [0, 0, 0] && digits[3..5] != [0, 0] && digits[5..] != [0, 0, 0, 0]
}

fn taxpayer(digits: &[u8]) -> bool {
    digits[0] == 9 && matches!(digits[3] * 10 + digits[4], 50..=65 | 70..=88 | 90..=92 | 94..=99)
}

#[cfg(test)]
mod tests {
    use super::super::pass::check;

    #[test]
    fn three_two_four_with_hyphens_is_taken_anywhere() {
        check("it was 078-05-1120.", &[("ssn", "078-05-1120")]);
        check("001-01-0001, 900-12-3456", &[("ssn", "001-01-0001"), ("ssn", "900-12-3456")]);
        check("900-70-1234", &[("us_itin", "900-70-1234")]);
    }

    #[test]
    fn other_forms_need_their_word() {
        check("SSN 078 05 1120", &[("ssn", "078 05 1120")]);
        check("social security number 078051120", &[("ssn", "078051120")]);
        check("order 078051120", &[]);
    }

    #[test]
    fn what_was_never_given_out_or_is_part_of_more_is_kept() {
        for text in [
            "000-12-3456",
            "123-00-4567",
            "123-45-0000",
            "1078-05-1120",
            "178-05-11201",
            "078-05-1120-7",
            "a078-05-1120",
        ] {
            check(text, &[]);
        }
    }
}
