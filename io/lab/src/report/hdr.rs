//! Writes the percentile distribution in the format of HdrHistogram.

use std::fmt::Write;

use crate::summary::Run;

/// Returns the percentile distribution as HdrHistogram prints it, in milliseconds, for its plotter. Each
/// halving of the distance to 100% has five lines.
pub fn hdr(run: &Run) -> String {
    const TICKS_PER_HALF: f64 = 5.0;
    let latency = &run.tally.all.latency;
    let count = latency.count();
    let mut out = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    let mut total = 0;
    let mut share = 0.0_f64;
    for (low, high, of_bucket) in latency.buckets() {
        total += of_bucket;
        let reached = total as f64 / count as f64;
        let value_ms = low.midpoint(high).clamp(latency.min_ns(), latency.max_ns()) as f64 / 1e6;
        while share <= reached && total < count {
            // Writing into a string cannot fail, here and below.
            let _ = writeln!(out, "{value_ms:12.3} {share:.12} {total:10} {:14.2}", 1.0 / (1.0 - share));
            let halvings = (1.0 / (1.0 - share)).log2().floor() + 1.0;
            share += 1.0 / (TICKS_PER_HALF * 2.0_f64.powf(halvings));
        }
    }
    if count > 0 {
        let _ = writeln!(out, "{:12.3} {:.12} {count:10}", latency.max_ns() as f64 / 1e6, 1.0);
    }
    let _ = writeln!(
        out,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
        latency.mean_ns() / 1e6,
        latency.deviation_ns() / 1e6
    );
    let _ = writeln!(out, "#[Max     = {:12.3}, Total count    = {count:12}]", latency.max_ns() as f64 / 1e6);
    let _ = writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", 57, 128);
    out
}
