//! Tables in Markdown, and figures as text.

use std::fmt;

/// A table that grows by rows.
#[derive(Clone, Debug)]
pub struct Table {
    columns: usize,
    text: String,
}

impl Table {
    /// A table with nothing but its heading.
    #[must_use]
    pub fn new(heading: &[&str]) -> Self {
        let rule = "---|".repeat(heading.len());
        let text = format!("| {} |\n|{rule}\n", heading.join(" | "));
        Self { columns: heading.len(), text }
    }

    /// Adds a row; cells that it lacks stay empty.
    pub fn row<C: fmt::Display>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        cells.resize(self.columns, String::new());
        self.text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Nanoseconds in the unit that leaves the fewest digits.
#[must_use]
pub fn time(nanos: f64) -> String {
    match nanos {
        nanos if nanos < 1e3 => format!("{nanos:.1} ns"),
        nanos if nanos < 1e6 => format!("{:.2} µs", nanos / 1e3),
        nanos if nanos < 1e9 => format!("{:.2} ms", nanos / 1e6),
        nanos => format!("{:.2} s", nanos / 1e9),
    }
}

/// Whether a figure is at most its goal.
#[must_use]
pub fn verdict(figure: f64, goal: f64) -> &'static str {
    if figure <= goal { "reached" } else { "missed" }
}

/// A ratio against its goal: reached when it is at most that.
#[must_use]
pub fn goal(ratio: f64, goal: f64) -> String {
    format!("{ratio:.2}, goal {goal:.2}: {}", verdict(ratio, goal))
}

/// The same, where what is equal differs by that much of itself: a ratio that lies closer to its goal says so.
#[must_use]
pub fn goal_within(ratio: f64, goal: f64, noise: f64) -> String {
    let within = if (ratio / goal - 1.0).abs() < noise { ", within noise" } else { "" };
    format!("{}{within}", self::goal(ratio, goal))
}

#[cfg(test)]
mod tests {
    use super::{Table, goal, goal_within, time};

    #[test]
    fn a_row_has_as_many_cells_as_the_heading() {
        let mut table = Table::new(&["who", "ns"]);
        table.row(["stealing", "44.8"]);
        table.row(["absent"]);
        assert_eq!(
            table.to_string(),
            "| who | ns |\n|---|---|\n| stealing | 44.8 |\n| absent |  |\n"
        );
    }

    #[test]
    fn a_time_takes_its_unit() {
        let times = [0.5, 999.0, 1_500.0, 2_500_000.0, 60e9].map(time);
        assert_eq!(times, ["0.5 ns", "999.0 ns", "1.50 µs", "2.50 ms", "60.00 s"]);
    }

    #[test]
    fn a_goal_is_reached_at_its_very_value() {
        assert_eq!(goal(0.5, 0.5), "0.50, goal 0.50: reached");
        assert_eq!(goal(0.51, 0.5), "0.51, goal 0.50: missed");
        assert_eq!(goal(f64::NAN, 0.5), "NaN, goal 0.50: missed");
    }

    #[test]
    fn a_ratio_closer_to_its_goal_than_equals_are_to_each_other_says_so() {
        assert_eq!(goal_within(0.51, 0.5, 0.03), "0.51, goal 0.50: missed, within noise");
        assert_eq!(goal_within(0.48, 0.5, 0.05), "0.48, goal 0.50: reached, within noise");
        assert_eq!(goal_within(0.48, 0.5, 0.03), "0.48, goal 0.50: reached");
    }
}
