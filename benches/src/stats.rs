//! Medians and what lies around them.

/// The median; `NaN` of nothing.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let values = sorted(values);
    let half = values.len() / 2;
    match (values.len() % 2, values.get(half)) {
        (_, None) => f64::NAN,
        (1, Some(&middle)) => middle,
        (_, Some(&upper)) => f64::midpoint(values[half - 1], upper),
    }
}

/// The least; `NaN` of nothing.
#[must_use]
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The most; `NaN` of nothing.
#[must_use]
pub fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The geometric mean of positive values; `NaN` of nothing.
#[must_use]
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let add = |(sum, count): (f64, f64), value: f64| (sum + value.ln(), count + 1.0);
    let (sum, count) = values.into_iter().fold((0.0, 0.0), add);
    (sum / count).exp()
}

/// The least value that `share` of all values do not exceed; `NaN` of nothing.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a length"
)]
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let values = sorted(values);
    let rank = (values.len() as f64 * share).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::{geometric_mean, least, median, most, quantile};

    fn assert_same(left: f64, right: f64) {
        assert!((left - right).abs() < f64::EPSILON, "{left} is not {right}");
    }

    #[test]
    fn twice_and_half_even_out() {
        assert!(geometric_mean([]).is_nan());
        assert!((geometric_mean([2.0, 8.0]) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn a_median_lies_in_the_middle() {
        assert!(median(&[]).is_nan());
        assert_same(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_same(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn least_and_most_need_no_order() {
        assert!(least(&[]).is_nan() && most(&[]).is_nan());
        assert_same(least(&[2.0, 1.0, 3.0]), 1.0);
        assert_same(most(&[2.0, 3.0, 1.0]), 3.0);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert!(quantile(&[], 0.5).is_nan());
        assert_same(quantile(&values, 0.0), 1.0);
        assert_same(quantile(&values, 0.5), 50.0);
        assert_same(quantile(&values, 0.99), 99.0);
        assert_same(quantile(&values, 1.0), 100.0);
    }
}
