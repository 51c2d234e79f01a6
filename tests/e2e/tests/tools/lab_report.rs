//! Tests the report page of `weir lab` in a browser: plots are visible, and tables have rows.

use std::fs;

use serde_json::Value;
use weir_testkit::TempDir;

use crate::browser::{open_with, results};
use crate::tool::{command, finish, text};

const SCENARIO: &str = "rivals = [\"none\", \"weir\"]\nrepeats = 3\nwarm-up = \"20ms\"\npause = \"0ms\"\nwatch = \"20ms\"\n\
    judge = [\"mean\", \"rate\"]\n[servers]\ncount = 2\n[[test]]\nname = \"GET\"\nconnections = [1, 2]\nduration = \"600ms\"\nsize = \"1KiB\"\n";

/// Measures what is visible on the page, and writes the results to where [`results`] reads them.
const LOOK: &str = r#"<pre id="results"></pre><script>
// As a person does who wants to see all of it.
document.querySelectorAll("details").forEach(fold => fold.open = true);
const seen = (mark, svg) => {
  const box = mark.getBoundingClientRect(), frame = svg.getBoundingClientRect(), style = getComputedStyle(mark);
  const inside = box.left >= frame.left - 1 && box.right <= frame.right + 1 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
  const paint = mark.tagName === "rect" ? style.fill : style.stroke;
  return box.width + box.height > 0 && inside && paint !== "none" && paint !== "rgba(0, 0, 0, 0)" && style.visibility === "visible";
};
const plots = [...document.querySelectorAll("svg")].map(svg => {
  const marks = [...svg.querySelectorAll("g > rect, path.curve")];
  return { of: svg.getAttribute("aria-label"), marks: marks.length, seen: marks.filter(mark => seen(mark, svg)).length,
    width: svg.getBoundingClientRect().width, labels: svg.querySelectorAll("text").length };
});
const tables = [...document.querySelectorAll("table")].map(table => ({
  head: [...table.querySelectorAll("thead th")].map(cell => cell.textContent),
  rows: [...table.querySelectorAll("tbody tr")].map(row => [...row.children].map(cell => cell.textContent)),
}));
const verdict = [...document.querySelectorAll(".verdict p")].map(line => line.textContent);
const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
document.getElementById("results").textContent = JSON.stringify({ plots, tables, verdict, wide });
</script></body>"#;

/// Returns the measurements of a report, and the number of figures that each rival has in the first table.
/// Returns `None` on a machine that is too busy for a single valid run.
fn shown() -> Option<(Value, [usize; 2])> {
    (0..3).find_map(|_| {
        let directory = TempDir::new().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("own.toml"), SCENARIO).unwrap();
        let mut weir = command(weir_e2e::program().to_str().unwrap());
        weir.args(["lab", "run", "own.toml", "--html", "report.html"]).current_dir(directory.path());
        let output = finish(weir);
        let page = fs::read_to_string(path("report.html"))
            .unwrap_or_else(|cause| panic!("{cause}: {}", text(&output)));
        fs::write(path("report.html"), page.replace("</body>", LOOK)).unwrap();
        let (dom, complaints) = open_with(&[], &format!("file://{}", path("report.html").display()));
        assert_eq!(complaints, Vec::<String>::new());
        let shown = results(&dom);
        let rows = shown["tables"][0]["rows"].as_array().unwrap().clone();
        let figures = ["none", "weir"].map(|rival| {
            let own = rows.iter().filter(|row| row[0] == rival).flat_map(|row| row.as_array().unwrap());
            own.skip(1).filter(|cell| *cell != "-").count()
        });
        (figures[1] > 0).then_some((shown, figures))
    })
}

#[test]
fn plots_have_marks_and_tables_have_rows() {
    let Some((shown, figures)) = shown() else {
        return weir_testkit::untested("too busy for a single valid run");
    };
    let plots = shown["plots"].as_array().unwrap();
    let of = |title: &str| {
        plots.iter().filter(|plot| plot["of"].as_str().unwrap().contains(title)).collect::<Vec<_>>()
    };
    for bars in [of("Mean latency"), of("Answers a second")] {
        // One bar for each case and rival.
        assert_eq!((bars.len(), &bars[0]["marks"]), (1, &Value::from(figures[0] + figures[1])), "{shown}");
    }
    for shares in ["In percent of the best: mean", "In percent of the best: rate"].map(of) {
        assert_eq!(
            (shares.len(), &shares[0]["marks"]),
            (1, &Value::from(figures[0] + figures[1])),
            "{shown}"
        );
    }
    assert!(!of("latency, ms").is_empty() && !of("processors used").is_empty(), "{shown}");
    assert!(!of("processors used by servers").is_empty(), "{shown}");
    for plot in plots {
        assert!(plot["marks"].as_u64().unwrap() > 0 && plot["marks"] == plot["seen"], "{plot}");
        assert!(plot["width"].as_f64().unwrap() > 300.0 && plot["labels"].as_u64().unwrap() > 2, "{plot}");
    }
    let tables = shown["tables"].as_array().unwrap();
    assert!(tables.len() >= 6, "{shown}");
    for table in tables {
        let (columns, rows) = (table["head"].as_array().unwrap().len(), table["rows"].as_array().unwrap());
        let is_comparison = table["head"][0] == "figure";
        // With one balancer there is no comparison.
        assert!(is_comparison || !rows.is_empty(), "{table}");
        assert!(rows.iter().all(|row| row.as_array().unwrap().len() == columns), "{table}");
    }
    let with = |cell: &str| tables.iter().any(|table| table["rows"].to_string().contains(cell));
    assert!(with("range ") && with("kernel") && with("s1 "), "{shown}");
    assert_eq!(shown["wide"], false, "the page is no wider than its window");
}
