//! How panels look.

use super::{Bar, Chart, Line, Marks, Panel, Range};
use crate::stats;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Panels in one row of a chart.
const COLUMNS: usize = 3;
/// A panel's size in pixels.
const PANEL: (u32, u32) = (440, 300);
const TITLE: u32 = 44;

const OURS: RGBColor = RGBColor(0x2a, 0x7f, 0x4f);
const THEIRS: RGBColor = RGBColor(0x9a, 0xa0, 0xa6);
const LINES: [RGBColor; 6] = [
    RGBColor(0x2a, 0x7f, 0x4f),
    RGBColor(0xc4, 0x5a, 0x1b),
    RGBColor(0x2c, 0x63, 0xb5),
    RGBColor(0x8e, 0x44, 0x8e),
    RGBColor(0xb8, 0x96, 0x1f),
    RGBColor(0x45, 0x45, 0x45),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// Charts below each other, as the text of an SVG file.
pub(super) fn sheet(charts: &[Chart]) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let heights = charts.iter().map(height);
    let columns = charts.iter().map(|chart| chart.panels.len().min(COLUMNS)).max().unwrap_or(1);
    // A title needs the room of two panels.
    let width = u32::try_from(columns.max(2))? * PANEL.0;
    let mut text = String::new();
    {
        let mut below =
            SVGBackend::with_string(&mut text, (width, heights.sum())).into_drawing_area();
        below.fill(&WHITE)?;
        for one in charts {
            let (area, rest) = below.split_vertically(height(one));
            chart(one, &area)?;
            below = rest;
        }
        below.present()?;
    }
    Ok(text)
}

fn height(chart: &Chart) -> u32 {
    let lines = u32::try_from(chart.panels.len().div_ceil(COLUMNS)).unwrap_or(u32::MAX);
    TITLE + lines.saturating_mul(PANEL.1)
}

fn chart(chart: &Chart, area: &Area<'_>) -> Drawn {
    let area = area.titled(chart.title, ("sans-serif", 24))?;
    let columns = chart.panels.len().min(COLUMNS);
    let cells = area.split_evenly((chart.panels.len().div_ceil(columns), columns));
    for (panel, cell) in chart.panels.iter().zip(cells) {
        match &panel.marks {
            Marks::Bars(marks) => bars(panel, marks, &cell)?,
            Marks::Ranges(marks) => ranges(panel, marks, &cell)?,
            Marks::Lines(marks) => lines(panel, marks, &cell)?,
        }
    }
    Ok(())
}

/// Who stands on the `at`-th line from below.
fn label<T>(marks: &[T], at: &SegmentValue<usize>, of: impl Fn(&T) -> &str) -> String {
    match at {
        SegmentValue::CenterOf(at) if *at < marks.len() => {
            of(&marks[marks.len() - 1 - at]).to_owned()
        }
        _ => String::new(),
    }
}

const fn colour(ours: bool) -> RGBColor {
    if ours { OURS } else { THEIRS }
}

fn bars(panel: &Panel, bars: &[Bar], area: &Area<'_>) -> Drawn {
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 17))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(130)
        .build_cartesian_2d(0.0..most * 1.1, (0..bars.len() - 1).into_segmented())?;
    let name = |at: &SegmentValue<usize>| label(bars, at, |bar| &bar.label);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc(panel.unit)
        .x_labels(6)
        .y_labels(bars.len())
        .y_label_formatter(&name)
        .draw()?;
    chart.draw_series(bars.iter().rev().enumerate().map(|(at, bar)| {
        let corners = [(0.0, SegmentValue::Exact(at)), (bar.value, SegmentValue::Exact(at + 1))];
        let mut bar = Rectangle::new(corners, colour(bar.ours).filled());
        bar.set_margin(2, 2, 0, 0);
        bar
    }))?;
    Ok(())
}

fn ranges(panel: &Panel, ranges: &[Range], area: &Area<'_>) -> Drawn {
    let all: Vec<f64> = ranges.iter().flat_map(|range| range.values).collect();
    let (least, most) = (stats::least(&all).max(0.1), stats::most(&all).max(0.2));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 17))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(130)
        .build_cartesian_2d(
            (least / 1.5..most * 1.5).log_scale(),
            (0..ranges.len() - 1).into_segmented(),
        )?;
    let name = |at: &SegmentValue<usize>| label(ranges, at, |range| &range.label);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .x_desc(panel.unit)
        .x_labels(6)
        .y_labels(ranges.len())
        .y_label_formatter(&name)
        .draw()?;
    let marks = ranges.iter().rev().enumerate().flat_map(|(at, range)| {
        let points = range.values.map(|value| (value, SegmentValue::CenterOf(at)));
        let colour = colour(range.ours);
        let line = PathElement::new(points.to_vec(), colour.stroke_width(2));
        let ends = points.map(|point| Circle::new(point, 3, colour.filled()));
        let ends = ends.into_iter().map(IntoDynElement::into_dyn);
        std::iter::once(line.into_dyn()).chain(ends)
    });
    chart.draw_series(marks)?;
    Ok(())
}

fn lines(panel: &Panel, lines: &[Line], area: &Area<'_>) -> Drawn {
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let workers = points().map(|point| point.0).fold(1.0, f64::max);
    let most = points().map(|point| point.1).fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 17))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(60)
        .build_cartesian_2d(0.8..workers * 1.3, 0.0..most * 1.1)?;
    chart.configure_mesh().x_desc(panel.unit).x_labels(6).y_labels(6).draw()?;
    for (line, colour) in lines.iter().zip(LINES.iter().cycle().copied()) {
        let points = line.points.iter().copied();
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?
            .label(&line.label)
            .legend(move |(x, y)| Rectangle::new([(x, y - 4), (x + 12, y + 4)], colour.filled()));
        chart.draw_series(points.map(|point| Circle::new(point, 3, colour.filled())))?;
    }
    chart.configure_series_labels().background_style(WHITE.mix(0.8)).border_style(BLACK).draw()?;
    Ok(())
}
