//! Tests the report page of `weir load` in a browser: curves that respond to the pointer, and pictures if
//! scripts do not run.

use std::fs;

use serde_json::Value;
use weir_origin::Origin;
use weir_testkit::TempDir;

use crate::browser::{open_with, results};
use crate::tool::{command, finish, text};

/// Simulates a user's pointer, and writes the visible results to where [`results`] reads them.
const LOOK: &str = r#"<pre id="results"></pre><script>
addEventListener("load", () => {
  const at = (over, type, x, y) => {
    const box = over.getBoundingClientRect();
    over.dispatchEvent(new MouseEvent(type, { bubbles: true, view: window, button: 0, movementX: 9, movementY: 1,
      clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
  };
  const painted = canvas => {
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 200) colours.add(pixels[i] + "," + pixels[i + 1] + "," + pixels[i + 2]);
    return colours.size;
  };
  const values = plot => [...plot.root.querySelectorAll(".u-value")].map(cell => cell.textContent);
  // A curve is drawn before the next task; so is what follows from the pointer.
  setTimeout(() => {
    const seen = plots.map(({ name, plot, frame }) => ({
      name, colours: painted(plot.root.querySelector("canvas")), width: frame.getBoundingClientRect().width,
      curves: plot.series.length - 1, points: plot.data[0].length, svgs: frame.querySelectorAll("svg").length,
    }));
    const [latency, rate] = ["latency", "rate"].map(name => plots.find(it => it.name === name).plot);
    const whole = [rate.scales.x.min, rate.scales.x.max];
    at(latency.over, "mousemove", 0.5, 0.5);
    setTimeout(() => {
      const pointed = [values(latency), values(rate)];
      at(latency.over, "mousedown", 0.25, 0.5);
      at(latency.over, "mousemove", 0.5, 0.5);
      at(latency.over, "mouseup", 0.5, 0.5);
      setTimeout(() => {
        const part = [rate.scales.x.min, rate.scales.x.max];
        at(latency.over, "dblclick", 0.5, 0.5);
        setTimeout(() => {
          const again = [rate.scales.x.min, rate.scales.x.max];
          const hint = getComputedStyle(document.querySelector(".plot-hint")).display;
          const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
          document.getElementById("results").textContent = JSON.stringify({ seen, pointed, whole, part, again, hint, wide });
        });
      });
    });
  });
});
</script></body>"#;

/// Counts the pictures of a page without scripts.
const COUNT: &str = r#"<pre id="results"></pre><script>
document.getElementById("results").textContent = JSON.stringify({
  svgs: document.querySelectorAll(".plot svg").length, hint: getComputedStyle(document.querySelector(".plot-hint")).display });
</script></body>"#;

/// Returns the report page of a short run.
fn page(directory: &TempDir) -> String {
    let origin = Origin::builder().start().unwrap();
    let mut weir = command(weir_e2e::program().to_str().unwrap());
    let url = format!("http://{}/bytes/1024", origin.addr());
    weir.args(["load", "--rate", "200", "--duration", "1500ms", "--html", "page.html", &url]);
    weir.current_dir(directory.path());
    let output = finish(weir);
    // An invalid run is good enough: a busy machine gets a page, too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output));
    fs::read_to_string(directory.path().join("page.html")).unwrap()
}

fn shown(directory: &TempDir, page: &str) -> Value {
    let path = directory.path().join("shown.html");
    fs::write(&path, page).unwrap();
    let (dom, complaints) =
        open_with(&["--virtual-time-budget=10000"], &format!("file://{}", path.display()));
    assert_eq!(complaints, Vec::<String>::new());
    results(&dom)
}

#[test]
fn curves_show_the_values_under_the_pointer_and_parts_of_them_enlarged() {
    let directory = TempDir::new().unwrap();
    let shown = shown(&directory, &page(&directory).replace("</body>", LOOK));
    let seen = shown["seen"].as_array().unwrap();
    let names: Vec<&Value> = seen.iter().map(|plot| &plot["name"]).collect();
    assert_eq!(names, ["latency", "rate", "percentiles", "histogram"]);
    for plot in seen {
        let curves = plot["curves"].as_u64().unwrap();
        // A color for each curve, and those of axes and text.
        assert!(plot["colours"].as_u64().unwrap() > curves + 1, "{shown}");
        assert!(plot["points"].as_u64().unwrap() > 5 && plot["width"].as_f64().unwrap() > 300.0, "{shown}");
        assert_eq!(plot["svgs"], 0, "the picture has made room: {shown}");
    }
    // Both plots share a time axis. Each shows the time and a value of each curve.
    for values in shown["pointed"].as_array().unwrap() {
        let values: Vec<&str> = values.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert!(values.len() == 4 && values[0].ends_with(" s"), "{shown}");
        assert!(values.iter().all(|value| value.starts_with(|c: char| c.is_ascii_digit())), "{shown}");
    }
    let span = |name: &str| shown[name][1].as_f64().unwrap() - shown[name][0].as_f64().unwrap();
    let share = span("part") / span("whole");
    assert!((0.2..0.3).contains(&share), "a quarter of the time, in the other plot, too: {shown}");
    assert_eq!(shown["again"], shown["whole"]);
    assert_eq!((&shown["hint"], &shown["wide"]), (&Value::from("block"), &Value::from(false)));
}

#[test]
fn without_scripts_there_are_pictures() {
    let directory = TempDir::new().unwrap();
    let whole = page(&directory);
    let (before, _) = whole.split_once("<script").unwrap();
    let shown = shown(&directory, &format!("{before}{COUNT}</html>"));
    assert_eq!((&shown["svgs"], &shown["hint"]), (&Value::from(4), &Value::from("none")));
}
