//! Compares choices by requests, measurements and random numbers with the formulas.
//! `tests/golden/work-out-choices` computes the expected choices independently of this code.

use std::collections::HashMap;
use std::sync::Arc;

use weir_balance::{Algorithm, Hundredths, MeasureOptions, Pick, PickInput, Picker, Scheduling, Watch};
use weir_model::Millis;

use crate::pool::Pool;

/// A file written by the script: one column for each variant, then the lines.
struct WorkedOut {
    columns: Vec<&'static str>,
    lines: Vec<&'static str>,
}

impl WorkedOut {
    fn read(text: &'static str) -> Self {
        let (columns, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with("# "));
        assert_eq!(lines.len(), 1_000);
        Self { columns: columns.into_iter().map(|line| &line[2..]).collect(), lines }
    }

    /// Asserts every column's choices. `scheduling` gets the words of a column's title, except the last,
    /// which are the weights.
    ///
    /// Each choice is made `looks` times before it counts.
    fn assert(&self, looks: usize, scheduling: impl Fn(&[&str]) -> Scheduling) {
        for (index, column) in self.columns.iter().enumerate() {
            let words: Vec<&str> = column.split('/').map(str::trim).collect();
            let (weights, words) = words.split_last().unwrap();
            let weights: Vec<u32> = weights.split(' ').map(|weight| weight.parse().unwrap()).collect();
            let pool = Pool::new(scheduling(words), &weights);
            let (roster, mut picker) = (pool.roster(), Picker::new(0));
            let mut running: HashMap<usize, (usize, u64, Watch)> = HashMap::new();
            for (number, line) in self.lines.iter().enumerate() {
                let mut words = line.split(' ');
                let digit = words.next().unwrap().as_bytes()[index];
                let now_ms = words.next().unwrap().parse().unwrap();
                let random = u64::from_str_radix(words.next().unwrap(), 16).unwrap();
                for event in words {
                    match event.split_at(1) {
                        ("-", ended) => {
                            let (slot, begun_ms, mut watch) =
                                running.remove(&ended.parse().unwrap()).unwrap();
                            let load = &pool.candidates[slot].load;
                            watch.answered(&roster, load, now_ms, (now_ms - begun_ms) * 1_000, true);
                            watch.completed(&roster, load, now_ms, true);
                            watch.end(load);
                            roster.end(slot, load);
                        }
                        (_, moved) => {
                            let (request, bytes) = moved.split_once(':').unwrap();
                            let (slot, _, watch) = running.get_mut(&request.parse().unwrap()).unwrap();
                            let load = Arc::clone(&pool.candidates[*slot].load);
                            watch.moved(&roster, &load, now_ms, bytes.parse().unwrap());
                        }
                    }
                }
                let input = PickInput { random, now_ms, ..PickInput::default() };
                (0..looks).for_each(|_| _ = picker.pick(&roster, &input));
                let slot = usize::from(digit - b'0');
                assert_eq!(picker.pick(&roster, &input), Pick::Server(slot), "{column}: request {number}");
                running.insert(number, (slot, now_ms, roster.watch(slot, now_ms)));
                assert!(roster.begin(slot));
            }
        }
    }
}

#[test]
fn a_thousand_requests_go_where_the_formulas_of_those_that_draw_and_of_least_request_say() {
    let golden = WorkedOut::read(include_str!("../golden/choices-by-requests.txt"));
    golden.assert(0, |words| {
        let algorithm = words[0].parse::<Algorithm>().unwrap();
        let options: Vec<&str> = words[1].split(' ').collect();
        let hundredths = |bias: &str| Hundredths((bias.parse::<f64>().unwrap() * 100.0) as u32);
        let measure = MeasureOptions {
            draws: options[0].parse().unwrap_or(2),
            distinct: options.contains(&"distinct"),
            bias: (options[0] == "bias").then(|| hundredths(options[1])),
            ..MeasureOptions::default()
        };
        Scheduling { measure, ..algorithm.into() }
    });
}

#[test]
fn a_thousand_requests_go_where_the_formula_of_peak_ewma_says() {
    let golden = WorkedOut::read(include_str!("../golden/choices-by-peaks.txt"));
    golden.assert(0, |words| {
        let ms = |word: &str| Millis(word.split(' ').next_back().unwrap().parse().unwrap());
        let measure =
            MeasureOptions { decay: ms(words[0]), default_rtt: ms(words[1]), ..MeasureOptions::default() };
        Scheduling { measure, ..Algorithm::PeakEwma.into() }
    });
}

/// A pick notices that bytes have become old within one pick for each server.
#[test]
fn a_thousand_requests_go_where_the_formula_of_least_bandwidth_says() {
    let golden = WorkedOut::read(include_str!("../golden/choices-by-bytes.txt"));
    golden.assert(5, |_| Algorithm::LeastBandwidth.into());
}
