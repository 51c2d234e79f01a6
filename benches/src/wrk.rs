//! The closed loop: wrk keeps a fixed number of connections busy.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Context, Error, Result};
use crate::workshop::HOST;

/// Parameters of wrk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) address: SocketAddr,
    pub(crate) path: &'static str,
    pub(crate) tls: bool,
    pub(crate) closes: bool,
    pub(crate) connections: u32,
    pub(crate) duration: Duration,
}

/// Report of wrk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Report {
    pub(crate) requests: u64,
    pub(crate) requests_per_s: f64,
    /// Median time from sending to the last byte under full load. It includes queueing and is not that of an
    /// open loop.
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Load {
    /// Returns the command, without a core to run on.
    pub(crate) fn command(&self) -> Command {
        let scheme = if self.tls { "https" } else { "http" };
        let mut wrk = Command::new("wrk");
        wrk.args(["--latency", "--threads", "1", "--timeout", "10s"])
            .args(["--connections", &self.connections.to_string()])
            .args(["--duration", &format!("{}s", self.duration.as_secs().max(1))])
            .args(["--header", &format!("Host: {HOST}")]);
        if self.closes {
            wrk.args(["--header", "Connection: close"]);
        }
        wrk.arg(format!("{scheme}://{}{}", self.address, self.path));
        wrk
    }

    /// Runs wrk to its end.
    ///
    /// # Errors
    /// If it cannot be started or any request failed, because the measurement would be meaningless.
    pub(crate) fn run(&self) -> Result<Report> {
        run(self.command())
    }

    /// Runs wrk like [`Load::run`], with a script that makes the requests.
    ///
    /// # Errors
    /// As for [`Load::run`].
    pub(crate) fn run_script(&self, script: &Path) -> Result<Report> {
        let mut command = self.command();
        command.arg("--script").arg(script);
        run(command)
    }

    /// Starts wrk like [`Load::run_script`], but returns at once. The load can be stopped; it ends by itself
    /// after its duration.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(crate) fn start_script(&self, script: &Path) -> Result<Running> {
        let mut command = self.command();
        command.arg("--script").arg(script).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Running { child: Some(command.spawn().context("wrk")?) })
    }
}

/// A running wrk, which is killed when dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Option<Child>,
}

impl Running {
    /// Stops wrk as Ctrl-C does, and returns its report.
    ///
    /// # Errors
    /// As for [`Load::run`].
    pub(crate) fn stop(mut self) -> Result<Report> {
        let child = self.child.take().ok_or_else(|| Error::new("wrk: it has ended"))?;
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::INT);
        }
        report(&child.wait_with_output().context("wrk")?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn run(mut command: Command) -> Result<Report> {
    report(&command.output().context("wrk")?)
}

fn report(output: &Output) -> Result<Report> {
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::new(format!("wrk: {}: {}{}", output.status, text.trim(), said.trim())));
    }
    parse(&text)
}

/// Parses wrk's report.
pub(crate) fn parse(text: &str) -> Result<Report> {
    let failed = |what: &str| Error::new(format!("wrk: {what} in its report:\n{text}"));
    let after = |prefix: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix(prefix)?.split_whitespace().next().map(str::to_owned))
    };
    if text.contains("Socket errors:") || text.contains("Non-2xx or 3xx responses:") {
        return Err(failed("errors"));
    }
    let requests = text
        .lines()
        .find_map(|line| line.trim().split_once(" requests in ")?.0.parse::<u64>().ok())
        .filter(|&requests| requests > 0)
        .ok_or_else(|| failed("no requests"))?;
    let requests_per_s =
        after("Requests/sec:").and_then(|rate| rate.parse().ok()).ok_or_else(|| failed("no rate"))?;
    let latency = |prefix: &str| after(prefix).and_then(|time| microseconds(&time));
    Ok(Report {
        requests,
        requests_per_s,
        p50_us: latency("50%").ok_or_else(|| failed("no p50"))?,
        p99_us: latency("99%").ok_or_else(|| failed("no p99"))?,
    })
}

/// Parses a duration of wrk: `12.34us`, `1.20ms`, `2.00s`, `1.50m`.
fn microseconds(text: &str) -> Option<f64> {
    let (number, scale) = if let Some(number) = text.strip_suffix("us") {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix("ms") {
        (number, 1e3)
    } else if let Some(number) = text.strip_suffix('s') {
        (number, 1e6)
    } else {
        (text.strip_suffix('m')?, 60e6)
    };
    number.parse::<f64>().ok().map(|number| number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Running 2s test @ http://127.0.0.1:8080/1k
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.93ms  317.00us   9.20ms   93.11%
    Req/Sec    33.24k     1.10k   35.01k    70.00%
  Latency Distribution
     50%    1.89ms
     75%    2.01ms
     90%    2.20ms
     99%    3.14ms
  66190 requests in 2.00s, 80.42MB read
Requests/sec:  33082.54
Transfer/sec:     40.19MB
";

    #[test]
    fn a_report_is_read() {
        let report = parse(REPORT).unwrap();
        let expected = Report { requests: 66_190, requests_per_s: 33_082.54, p50_us: 1890.0, p99_us: 3140.0 };
        assert_eq!(report, expected);
    }

    #[test]
    fn a_report_with_failed_requests_is_refused() {
        let errors = format!("{REPORT}  Socket errors: connect 0, read 3, write 0, timeout 0\n");
        assert!(parse(&errors).is_err());
        assert!(parse(&format!("{REPORT}  Non-2xx or 3xx responses: 4\n")).is_err());
        assert!(parse("unable to connect").is_err());
    }

    #[test]
    fn durations_of_every_unit_are_read() {
        assert_eq!(microseconds("812.00us"), Some(812.0));
        assert_eq!(microseconds("2.50s"), Some(2.5e6));
        assert_eq!(microseconds("1.00m"), Some(60e6));
        assert_eq!(microseconds("soon"), None);
    }
}
