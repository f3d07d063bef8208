//! Maps as SVG.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::outcome::Map;

/// Width and height of a cell, in pixels.
const CELL: (i32, i32) = (30, 18);
/// Room for the names of rows, for those of columns below the title, and around all.
const MARGIN: (i32, i32, i32) = (150, 200, 12);
/// From this factor on, or from one over it, colours are at their deepest.
const DEEPEST: f64 = 2.0;
/// Above and below 1 (Okabe and Ito 2008), and where nothing is defined.
const COLOURS: [RGBColor; 3] = [
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(225, 225, 225),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// A map as the text of an SVG file; nothing if there is nothing to draw.
pub fn svg(map: &Map) -> Option<String> {
    let mut cells = map.rows.iter().flat_map(|(_, cells)| cells);
    cells.find(|cell| cell.is_some())?;
    let size = |cells: usize, cell: i32, before: i32| {
        let cells = u32::try_from(cells)
            .ok()?
            .checked_mul(cell.unsigned_abs())?;
        cells.checked_add(before.unsigned_abs() + MARGIN.2.unsigned_abs())
    };
    let size = (
        size(map.columns.len(), CELL.0, MARGIN.0)?,
        size(map.rows.len(), CELL.1, MARGIN.1)?,
    );
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&area, map).ok()?;
    }
    Some(text)
}

fn draw(area: &Area<'_>, map: &Map) -> Drawn {
    area.fill(&WHITE)?;
    let font = |size: i32| ("sans-serif", size).into_font();
    area.draw(&Text::new(
        map.title.clone(),
        (MARGIN.2, MARGIN.2),
        font(16),
    ))?;
    for (name, x) in map
        .columns
        .iter()
        .zip((MARGIN.0..).step_by(CELL.0.unsigned_abs() as usize))
    {
        let upright = font(11).transform(FontTransform::Rotate270);
        area.draw(&Text::new(
            name.clone(),
            (x + CELL.0 / 4, MARGIN.1 - 6),
            upright,
        ))?;
    }
    for ((name, cells), y) in map
        .rows
        .iter()
        .zip((MARGIN.1..).step_by(CELL.1.unsigned_abs() as usize))
    {
        area.draw(&Text::new(name.clone(), (MARGIN.2, y + 4), font(11)))?;
        for (cell, x) in cells
            .iter()
            .zip((MARGIN.0..).step_by(CELL.0.unsigned_abs() as usize))
        {
            let corners = [(x, y), (x + CELL.0 - 1, y + CELL.1 - 1)];
            area.draw(&Rectangle::new(corners, colour(*cell).filled()))?;
            if let Some(value) = cell {
                area.draw(&Text::new(format!("{value:.2}"), (x + 3, y + 4), font(10)))?;
            }
        }
    }
    area.present()
}

/// White at 1, deeper the farther from it, alike for a factor and for one over it.
fn colour(cell: Option<f64>) -> RGBColor {
    let Some(value) = cell else {
        return COLOURS[2];
    };
    let distance = libm::log(value) / libm::log(DEEPEST);
    let end = COLOURS[usize::from(distance < 0.0)];
    let depth = distance.abs().min(1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two bytes"
    )]
    let mix = |end: u8| (255.0 - (255.0 - f64::from(end)) * depth).round() as u8;
    RGBColor(mix(end.0), mix(end.1), mix(end.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(cells: &[Option<f64>]) -> Map {
        Map {
            file: "map".into(),
            title: "<title>".into(),
            columns: cells.iter().map(|_| "a & b".into()).collect(),
            rows: vec![("row".into(), cells.to_vec())],
        }
    }

    #[test]
    fn maps_are_svg_whatever_the_cells() {
        let cells = [Some(1.0), None, Some(0.0), Some(1e300), Some(-1.0)];
        let text = svg(&map(&cells)).expect("something to draw");
        assert!(
            text.starts_with("<svg") && text.trim_end().ends_with("</svg>"),
            "{text}"
        );
        assert!(
            text.contains("&lt;title&gt;") && text.contains("a &amp; b"),
            "{text}"
        );
        assert_eq!(svg(&map(&[None])), None);
        assert_eq!(svg(&map(&[])), None);
    }

    #[test]
    fn colours_tell_how_far_from_one() {
        assert_eq!(colour(Some(1.0)), RGBColor(255, 255, 255));
        assert_eq!(colour(Some(2.0)), COLOURS[0]);
        assert_eq!(colour(Some(0.1)), COLOURS[1]);
        assert_eq!(colour(None), COLOURS[2]);
        let [once, twice] = [1.1, 1.5].map(|value| colour(Some(value)));
        assert!(once.2 > twice.2 && once.0 >= twice.0, "{once:?} {twice:?}");
    }
}
