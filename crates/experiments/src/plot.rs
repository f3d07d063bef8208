//! Pictures as SVG.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::outcome::{Curve, Plot};

/// Width and height in pixels.
const SIZE: (u32, u32) = (860, 440);
/// Width of the legend.
const LEGEND: u32 = 190;
/// Colours that people tell apart with any sight (Okabe and Ito 2008).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
    RGBColor(128, 128, 128),
];

/// What a logarithmic axis shows; a method that diverges leaves it.
const DECADES: Range<f64> = 1e-20..1e20;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A plot as the text of an SVG file; nothing if there is nothing to draw.
pub fn svg(plot: &Plot) -> Option<String> {
    let drawable = |y: f64| {
        if plot.log {
            DECADES.contains(&y)
        } else {
            y.abs() < DECADES.end
        }
    };
    let points = plot.curves.iter().flat_map(|curve| &curve.points);
    let points: Vec<(f64, f64)> = points.copied().filter(|(_, y)| drawable(*y)).collect();
    let (xs, ys) = (
        range(points.iter().map(|p| p.0))?,
        range(points.iter().map(|p| p.1))?,
    );
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let drawn = if plot.log {
            draw(
                &area,
                plot,
                xs,
                (ys.0 / 1.5..ys.1 * 1.5).log_scale(),
                &drawable,
            )
        } else {
            let margin = ((ys.1 - ys.0) * 0.05).max(ys.1.abs() * 1e-3).max(1e-12);
            let low = if ys.0 >= 0.0 { 0.0 } else { ys.0 - margin };
            draw(&area, plot, xs, low..ys.1 + margin, &drawable)
        };
        drawn.ok()?;
    }
    Some(text)
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

fn draw<Y>(
    area: &Area<'_>,
    plot: &Plot,
    xs: (f64, f64),
    ys: Y,
    drawable: &impl Fn(f64) -> bool,
) -> Drawn
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    area.fill(&WHITE)?;
    let margin = ((xs.1 - xs.0) * 0.03).max(1e-9);
    let mut chart = ChartBuilder::on(area)
        .caption(&plot.title, ("sans-serif", 16))
        .margin(12)
        .margin_right(LEGEND + 12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d(xs.0 - margin..xs.1 + margin, ys)?;
    chart
        .configure_mesh()
        .x_desc(&plot.x)
        .y_desc(&plot.y)
        .light_line_style(WHITE)
        .x_label_formatter(&|x| label(*x))
        .y_label_formatter(&|y| label(*y))
        .draw()?;
    for (curve, colour) in coloured(&plot.curves) {
        let points = || curve.points.iter().copied().filter(|(_, y)| drawable(*y));
        if !curve.published {
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2)))?;
        }
        if curve.published || curve.points.len() <= 30 {
            chart.draw_series(points().map(|point| Circle::new(point, 3, dot(curve, colour))))?;
        }
    }
    legend(area, &plot.curves)?;
    area.present()
}

/// A published curve follows the measured one that it belongs to, and has its colour.
fn coloured(curves: &[Curve]) -> impl Iterator<Item = (&Curve, RGBColor)> {
    curves.iter().scan(0, |number, curve| {
        *number += usize::from(!curve.published || *number == 0);
        Some((curve, COLOURS[(*number - 1) % COLOURS.len()]))
    })
}

/// The names of the curves, at the right of the chart.
fn legend(area: &Area<'_>, curves: &[Curve]) -> Drawn {
    let left = SIZE.0.cast_signed() - LEGEND.cast_signed();
    for ((curve, colour), line) in coloured(curves).zip(0..) {
        let y = 45 + 18 * line;
        if curve.published {
            area.draw(&Circle::new((left + 8, y), 3, dot(curve, colour)))?;
        } else {
            let points = vec![(left, y), (left + 16, y)];
            area.draw(&PathElement::new(points, colour.stroke_width(2)))?;
        }
        let font = ("sans-serif", 11).into_font();
        area.draw(&Text::new(curve.name.clone(), (left + 22, y - 6), font))?;
    }
    Ok(())
}

/// Measured points are filled, published ones are rings.
fn dot(curve: &Curve, colour: RGBColor) -> ShapeStyle {
    if curve.published {
        colour.stroke_width(2)
    } else {
        colour.filled()
    }
}

/// A number at an axis, short.
fn label(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        "0".into()
    } else if (1e-2..1e5).contains(&size) {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        format!("{value:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(log: bool, points: &[(f64, f64)]) -> Plot {
        let curve = |published| Curve {
            name: format!("a & b {published}"),
            points: points.to_vec(),
            published,
        };
        Plot {
            file: "plot".into(),
            title: "<title>".into(),
            x: "x".into(),
            y: "y".into(),
            log,
            curves: vec![curve(false), curve(true)],
        }
    }

    #[test]
    fn pictures_are_svg_whatever_the_points() {
        for log in [false, true] {
            for points in [
                &[(1.0, 2.0), (2.0, 1e9)][..],
                &[(5.0, 5.0)],
                &[(0.0, 1e-12), (1.0, f64::NAN), (2.0, 1e300)],
            ] {
                let text = svg(&plot(log, points)).expect("something to draw");
                assert!(
                    text.starts_with("<svg") && text.trim_end().ends_with("</svg>"),
                    "{text}"
                );
                assert!(text.contains("&lt;title&gt;"), "{text}");
            }
        }
        assert_eq!(svg(&plot(true, &[(1.0, -1.0)])), None);
        assert_eq!(svg(&plot(false, &[])), None);
    }
}
