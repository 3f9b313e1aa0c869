use super::*;
use crate::sim::choice::{Choices, Label, Source};

fn trace(values: &[u64]) -> Vec<Traced> {
    const LABEL: Label = Label::new("step");
    let mut choices = Choices::new(Source::Seed(0), true);
    values.iter().for_each(|&value| choices.fold(LABEL, value));
    choices.take_trace()
}

fn parting(first: &[u64], second: &[u64]) -> Option<String> {
    Parting::of(&trace(first), &trace(second)).map(|parting| parting.to_string())
}

#[test]
fn the_first_line_that_differs_is_named() {
    assert_eq!(parting(&[1, 2, 3], &[1, 2, 3]), None);
    let text = parting(&[1, 2, 3], &[1, 4, 3]).unwrap();
    assert!(text.ends_with("line 2 of the trace: \"step 2\", then \"step 4\""), "{text}");
    let text = parting(&[1, 2], &[1, 2, 3]).unwrap();
    assert!(text.ends_with("line 3 of the trace: the end, then \"step 3\""), "{text}");
}
