//! Medians.

/// The median; `NaN` of nothing.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match (values.len() % 2, values.get(half)) {
        (_, None) => f64::NAN,
        (1, Some(&middle)) => middle,
        (_, Some(&upper)) => f64::midpoint(values[half - 1], upper),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_lies_in_the_middle() {
        assert!(median(&mut []).is_nan());
        assert!((median(&mut [3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&mut [4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < f64::EPSILON);
    }
}
