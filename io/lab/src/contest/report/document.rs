//! Content of a report, independent of its format.

use std::collections::BTreeMap;

use weir_config::lab::{Measure, Product};

use super::super::analysis::Analysis;
use super::super::identity;
use super::super::machine::DIRECTORY_COMMIT;
use super::super::rivals::ConfigSize;
use super::verdict::{self, Finding};
use super::{cases, grid, plots, tables};

/// Block of a report.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Title(String),
    Heading(String),
    /// Table of winners and their advantage.
    Grid(Table),
    /// Verdict about one measure, one entry per finding.
    Verdict(Vec<String>),
    /// Reasons to doubt the results, one sentence each.
    Warning(Vec<String>),
    Text(String),
    List(Vec<String>),
    Table(Table),
    /// SVG, for formats that can show it.
    Plot(String),
    /// Content that is hidden until the reader opens it.
    Fold {
        title: String,
        blocks: Vec<Block>,
    },
    /// Configuration of a rival.
    Config {
        name: String,
        text: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Table {
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Returns the report. The grid of winners, doubts, and the description of the play come first and are
/// visible. The rest is folded, if the format supports that.
pub(super) fn of(analysis: &Analysis) -> Vec<Block> {
    let scenario = &analysis.scenario;
    let meta = |key: &str| analysis.results.meta.get(key).cloned().unwrap_or_default();
    let title = if scenario.title.is_empty() { meta("name") } else { scenario.title.clone() };
    let quick = if meta("form") == "quick" { " (quick form)" } else { "" };
    let mut blocks = vec![Block::Title(format!("{title}{quick}"))];
    let findings = verdict::findings(analysis);
    if let Some(grid) = grid::grid(analysis) {
        blocks.push(Block::Grid(grid));
        blocks.push(Block::Text(
            "The better one is named, with how much less or more it has than the other, and the interval of that. `The same`: the whole interval \
             lies within the margin. `Undecided`: neither a difference nor its absence could be shown."
                .to_owned(),
        ));
    }
    blocks.extend(doubts(analysis, &findings));
    played(analysis, &mut blocks);
    for measure in &scenario.judge {
        let own = findings.iter().filter(|finding| finding.measure == Some(*measure));
        let said: Vec<String> = own.map(|finding| finding.entry.clone()).collect();
        let table = tables::measure(analysis, *measure);
        if said.is_empty() && table.is_none() {
            continue;
        }
        blocks.push(Block::Heading(measure.title().to_owned()));
        blocks.extend((!said.is_empty()).then_some(Block::Verdict(said)));
        let Some(table) = table else { continue };
        blocks.push(Block::Plot(plots::bars(analysis, *measure)));
        blocks.push(Block::Table(table));
        let relative = tables::relative(analysis, *measure);
        if !relative.rows.is_empty() {
            blocks.push(Block::Text("In percent of the best:".to_owned()));
            blocks.push(Block::Plot(plots::bars_of_the_best(analysis, *measure)));
            blocks.push(Block::Table(relative));
        }
    }
    comparisons(analysis, &mut blocks);
    trust(analysis, &mut blocks);
    let others = Measure::ALL.into_iter().filter(|measure| !scenario.judge.contains(measure));
    let others = others.filter_map(|measure| {
        let table = tables::measure(analysis, measure)?;
        Some([Block::Text(format!("{}:", measure.title())), Block::Table(table)])
    });
    fold("Figures that the verdict does not go by", others.flatten().collect(), &mut blocks);
    fold("Answers and servers", vec![Block::Table(tables::answers(analysis))], &mut blocks);
    let losses = tables::losses(analysis);
    if !losses.rows.is_empty() {
        let said = "What TCP counted over the valid runs, in the balancer's network and in the servers'; over loopback all parties are in one. \
                    Segments that are sent again, and listeners whose queue is full, add to latency what no balancer can help."
            .to_owned();
        fold("TCP", vec![Block::Text(said), Block::Table(losses)], &mut blocks);
    }
    let growth = tables::growth(analysis);
    if !growth.rows.is_empty() {
        let said = "What the further monitors counted, on average over the valid runs; `weir watch` has the same figures, and says what they are.".to_owned();
        fold("Disks, interfaces, energy", vec![Block::Text(said), Block::Table(growth)], &mut blocks);
    }
    let curves = |plots: Vec<(String, String)>| -> Vec<Block> {
        let all = analysis.scenario.cases.len();
        let said = (!plots.is_empty() && all > plots::PLOTS_MAX)
            .then(|| Block::Text(format!("Of {} tests out of {all}, spread evenly:", plots::PLOTS_MAX)));
        let plots = plots.into_iter().flat_map(|(case, plot)| [Block::Text(case), Block::Plot(plot)]);
        said.into_iter().chain(plots).collect()
    };
    fold("CPU of the balancer over time", curves(plots::cpu_over_time(analysis)), &mut blocks);
    fold("CPU of the servers over time", curves(plots::server_cpu_over_time(analysis)), &mut blocks);
    fold("Servers over time", curves(plots::servers_over_time(analysis)), &mut blocks);
    fold("Fleets over time", curves(plots::fleets_over_time(analysis)), &mut blocks);
    let mut latency = curves(plots::latency_over_time(analysis));
    if !latency.is_empty() {
        let said =
            "Medians of requests by when they were due, in the run of each rival that is in the middle.";
        latency.insert(0, Block::Text(said.to_owned()));
    }
    fold("Latency over time", latency, &mut blocks);
    fold("Configurations", configurations(analysis), &mut blocks);
    fold("Machine", machine(analysis), &mut blocks);
    blocks
}

fn fold(title: &str, blocks: Vec<Block>, to: &mut Vec<Block>) {
    if !blocks.is_empty() {
        to.push(Block::Fold { title: title.to_owned(), blocks });
    }
}

/// Returns reasons to doubt the results, or a note that the machine gave none.
fn doubts(analysis: &Analysis, findings: &[Finding]) -> Vec<Block> {
    let noise = analysis.noise;
    let mut said: Vec<String> = Vec::new();
    let floor = share(noise.floor());
    if let Some(drift) = noise.drift {
        let way = if drift > 0.0 { "slower" } else { "faster" };
        said.push(format!(
            "The machine became {} {way} from the first half of the runs to the second, beyond chance. No difference in speed of {floor} or less is claimed.",
            share(drift.abs())
        ));
    }
    if noise.slow_runs > 0 {
        said.push(format!(
            "The machine was disturbed: before {} of {} runs a fixed piece of work took over 20% longer than usual, at worst {}.",
            noise.slow_runs,
            analysis.results.runs.len(),
            share(noise.worst)
        ));
    }
    said.extend(
        findings.iter().filter(|finding| finding.measure.is_none()).map(|finding| finding.entry.clone()),
    );
    let steady = format!(
        "Noise: a fixed piece of work before each run took as long as usual, give or take {}, in half of the runs, and {} longer at worst. \
         No difference in speed of {floor} or less is claimed.",
        share(noise.spread),
        share(noise.worst),
    );
    let is_known = analysis.results.runs.iter().any(|run| run.calibration_ns > 0);
    let warning = (!said.is_empty()).then_some(Block::Warning(said));
    warning.into_iter().chain(is_known.then_some(Block::Text(steady))).collect()
}

/// Formats a share for people, such as `4.3%`.
fn share(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Adds the description of the play and its rivals.
fn played(analysis: &Analysis, blocks: &mut Vec<Block>) {
    let scenario = &analysis.scenario;
    let topology = analysis.results.meta.get("topology").cloned().unwrap_or_default();
    blocks.push(Block::Heading("What was played".to_owned()));
    blocks.push(Block::Table(cases::cases(scenario)));
    let versions = analysis.results.rivals.iter().filter(|rival| !rival.version.is_empty());
    let versions: Vec<String> =
        versions.map(|rival| format!("{} is {}", rival.rival, rival.version)).collect();
    if !versions.is_empty() {
        blocks.push(Block::Text(format!("{}.", versions.join("; "))));
    }
    if scenario.rivals.iter().any(|rival| rival.product == Product::None) {
        let names = scenario.rivals.iter().filter(|rival| rival.product == Product::None);
        let names: Vec<&str> = names.map(|rival| rival.name.as_str()).collect();
        let (is, it) = if names.len() == 1 { ("is", "it is") } else { ("are", "they are") };
        blocks.push(Block::Text(format!(
            "{} {is} the client with one server and no balancer between: {it} shown for what a balancer costs or gains, and not compared with balancers.",
            names.join(" and ")
        )));
    }
    blocks.push(Block::Text(format!(
        "{} runs of {} cases with {} rivals, {} times each, in an order drawn from seed {}; {} of them are invalid. Played over {topology}. \
         A figure is the median over valid runs, and in brackets where it lies with at least 95% confidence; of fewer than 6 runs that \
         cannot be said, and the brackets have their range. Latencies are those of requests that were answered: where some were not, or runs \
         are missing, the figure says of how many it is.",
        analysis.results.runs.len(),
        scenario.cases.len(),
        scenario.rivals.len(),
        scenario.repeats,
        scenario.seed,
        analysis.invalid().count(),
    )));
}

/// Adds comparisons over all cases. Those in single cases are folded, because there are many.
fn comparisons(analysis: &Analysis, blocks: &mut Vec<Block>) {
    if analysis.pairs.is_empty() {
        return;
    }
    blocks.push(Block::Heading("Comparisons".to_owned()));
    blocks.push(Block::Text(format!(
        "The ratio is the first one's figure divided by the other's, in the typical turn that both took (the median of the averages of every two). Over all cases the probability is that \
         of the permutation test for pairs, in a single case that of Mann and Whitney's; both after Holm's correction for how many were made. \
         What is not below 5% may be chance. Nobody is said to be better unless the typical turn, its interval and the test agree, and the whole \
         interval lies further from 1 than the margin ({} by the scenario; more where the machine's noise is more); where the whole interval lies within, there is no difference that matters.",
        tables::percent(analysis.scenario.margin)
    )));
    blocks.push(Block::Table(tables::comparisons(analysis, |pair| pair.case.is_none())));
    let single = tables::comparisons(analysis, |pair| pair.case.is_some());
    if !single.rows.is_empty() {
        fold("Comparisons in single cases", vec![Block::Table(single)], blocks);
    }
}

/// Number of invalid runs that are listed. Further ones are folded.
const LISTED_MAX: usize = 8;

/// Adds a list of rivals and runs that were left out.
fn trust(analysis: &Analysis, blocks: &mut Vec<Block>) {
    blocks.push(Block::Heading("What was left out".to_owned()));
    let mut list: Vec<String> = Vec::new();
    for rival in analysis.results.rivals.iter().filter(|rival| !rival.left_out.is_empty()) {
        list.push(format!("{}: {}", rival.rival, rival.left_out));
    }
    let invalid = analysis.invalid().map(|run| {
        let whose = if run.is_measured() { "" } else { " (not measured)" };
        format!("{}, {}, repeat {}{whose}: {}", run.case, run.rival, run.repeat + 1, run.why())
    });
    let invalid: Vec<String> = invalid.collect();
    if list.is_empty() && invalid.is_empty() {
        blocks.push(Block::Text("Nothing: every run is valid.".to_owned()));
    } else if invalid.len() > LISTED_MAX {
        blocks.extend((!list.is_empty()).then_some(Block::List(list)));
        fold(&format!("{} runs that are invalid", invalid.len()), vec![Block::List(invalid)], blocks);
    } else {
        list.extend(invalid);
        blocks.push(Block::List(list));
    }
    if analysis.scenario.cases.iter().any(|case| case.lose.is_some()) {
        blocks.push(Block::Text(
            "In every run that counts, the active one had the address before the loss, and the passive one after it."
                .to_owned(),
        ));
    }
}

fn configurations(analysis: &Analysis) -> Vec<Block> {
    let configured: Vec<_> =
        analysis.results.rivals.iter().filter(|rival| !rival.config.is_empty()).collect();
    if configured.is_empty() {
        return Vec::new();
    }
    let row = |rival: &&super::super::store::Configured| {
        let size = ConfigSize::of(&rival.config);
        let figures = [size.lines, size.characters, size.special].map(|figure| figure.to_string());
        [vec![rival.rival.clone(), rival.version.clone()], figures.to_vec()].concat()
    };
    let mut blocks = Vec::new();
    if let [first, _, ..] = analysis.scenario.cases.as_slice() {
        blocks.push(Block::Text(format!("As they are in the first test, {}.", first.name)));
    }
    blocks.push(Block::Table(Table {
        head: ["rival", "version", "lines", "characters", "special characters"].map(str::to_owned).to_vec(),
        rows: configured.iter().map(row).collect(),
    }));
    blocks.extend(
        configured
            .iter()
            .map(|rival| Block::Config { name: rival.rival.clone(), text: rival.config.clone() }),
    );
    blocks
}

fn machine(analysis: &Analysis) -> Vec<Block> {
    let hidden = ["scenario", "format", "form", "name", "topology", "identity"];
    let facts = analysis
        .results
        .meta
        .iter()
        .filter(|(key, value)| !hidden.contains(&key.as_str()) && !value.is_empty());
    // Measured programs, each with the beginning of its SHA-256, because two builds may report the same
    // version.
    let identity = analysis.results.meta.get(identity::KEY).and_then(|text| serde_json::from_str(text).ok());
    let identity: BTreeMap<String, String> = identity.unwrap_or_default();
    let builds = identity
        .into_iter()
        .filter_map(|(key, value)| Some(vec![format!("build of {}", key.strip_prefix("rival ")?), value]));
    // Older files call the key "commit", as if it were the commit of the programs.
    let named = |key: &String| match key.as_str() {
        "commit" | DIRECTORY_COMMIT => {
            "commit of the directory in which it was started (programs may be of another)".to_owned()
        }
        _ => key.clone(),
    };
    vec![Block::Table(Table {
        head: vec!["what".to_owned(), "value".to_owned()],
        rows: facts.map(|(key, value)| vec![named(key), value.clone()]).chain(builds).collect(),
    })]
}
