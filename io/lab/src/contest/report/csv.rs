use weir_config::lab::Measure;

use super::super::analysis::Analysis;

/// A line for each run, with every figure that it has (RFC 4180).
pub fn csv(analysis: &Analysis) -> String {
    let measures = Measure::ALL.map(Measure::name).join(",");
    let mut out = format!(
        "case,rival,repeat,place,started_unix_s,seconds,valid,sent,succeeded,calibration_ns,{measures}\r\n"
    );
    for run in &analysis.results.runs {
        let figure = |measure| {
            let value = run.figures.iter().find(|(it, _)| *it == measure);
            value.map_or_else(String::new, |(_, value)| value.to_string())
        };
        let figures = Measure::ALL.map(figure).join(",");
        out.push_str(&format!(
            "{},{},{},{},{},{},{},{},{},{},{figures}\r\n",
            quoted(&run.case),
            quoted(&run.rival),
            run.repeat,
            run.place,
            run.started_unix_s,
            run.seconds,
            run.is_valid(),
            run.sent,
            run.succeeded,
            run.calibration_ns,
        ));
    }
    out
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
