//! How processors are shared: by weight, and nobody gets more than they claim.

/// What a unit could use, and how much it weighs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Claim {
    pub(super) wants: f64,
    pub(super) weight: f64,
}

/// What each gets. What one leaves is shared among the others, until nothing is left or nobody wants more.
pub(super) fn share(processors: f64, claims: &[Claim]) -> Vec<f64> {
    let mut got = vec![0.0; claims.len()];
    let mut left = processors;
    let mut open: Vec<usize> = (0..claims.len()).filter(|i| claims[*i].wants > 0.0).collect();
    while !open.is_empty() && left > 1e-9 {
        let weights: f64 = open.iter().map(|i| claims[*i].weight).sum();
        let fair = |i: usize| left * claims[i].weight / weights;
        let (content, hungry): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|i| claims[**i].wants <= fair(**i));
        if content.is_empty() {
            hungry.iter().for_each(|i| got[*i] = fair(*i));
            break;
        }
        for i in content {
            got[i] = claims[i].wants;
        }
        left = processors - got.iter().sum::<f64>();
        open = hungry;
    }
    got
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_leaves_goes_to_the_others_by_their_weight() {
        let claim = |wants, weight| Claim { wants, weight };
        for (what, claims, expected) in [
            ("enough for all", vec![claim(0.5, 1.0), claim(1.0, 1.0)], vec![0.5, 1.0]),
            ("two that want all", vec![claim(4.0, 1.0), claim(4.0, 3.0)], vec![0.5, 1.5]),
            ("a small one is served in full", vec![claim(0.2, 1.0), claim(9.0, 1.0)], vec![0.2, 1.8]),
            ("nobody wants any", vec![claim(0.0, 1.0)], vec![0.0]),
            ("nobody is there", vec![], vec![]),
        ] {
            let got = share(2.0, &claims);
            let close =
                got.len() == expected.len() && got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(close, "{what}: {got:?}");
        }
    }
}
