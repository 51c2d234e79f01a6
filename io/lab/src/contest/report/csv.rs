use weir_config::lab::Measure;

use super::super::analysis::Analysis;
use super::super::store::Played;

/// A line for each run, with every figure that it has, and requests and bytes of each server as `s1=50;s2=50` (RFC 4180).
pub fn csv(analysis: &Analysis) -> String {
    let measures = Measure::ALL.map(Measure::name).join(",");
    let mut out = format!(
        "case,rival,repeat,place,started_unix_s,seconds,valid,sent,succeeded,calibration_ns,\
         requests_of_servers,bytes_of_servers,{measures}\r\n"
    );
    for run in &analysis.results.runs {
        let figure = |measure| {
            let value = run.figures.iter().find(|(it, _)| *it == measure);
            value.map_or_else(String::new, |(_, value)| value.to_string())
        };
        let figures = Measure::ALL.map(figure).join(",");
        out.push_str(&format!(
            "{},{},{},{},{},{},{},{},{},{},{},{},{figures}\r\n",
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
            quoted(&each(run, |(_, requests, _)| *requests)),
            quoted(&each(run, |(_, _, bytes)| *bytes)),
        ));
    }
    out
}

fn each(run: &Played, of: fn(&(String, u64, u64)) -> u64) -> String {
    let all = run.servers.iter().map(|server| format!("{}={}", server.0, of(server)));
    all.collect::<Vec<_>>().join(";")
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
