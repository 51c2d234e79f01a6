//! The command line of httperf.

use std::str::FromStr;

use super::Translated;

/// Take httperf's command line, and report in its form
///
/// Options may be abbreviated. A request may take 30 seconds unless --timeout says otherwise. Statuses other than 2xx and 3xx are the
/// server's failure (exit status 1).
#[derive(Debug, clap::Args)]
pub(crate) struct HttperfArgs {
    /// The server.
    #[arg(long, value_name = "HOST", default_value = "localhost")]
    server: String,
    /// Its port [default: 80, with --ssl 443].
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Path to request.
    #[arg(long, value_name = "URI", default_value = "/")]
    uri: String,
    /// The name in the Host header.
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// Speak TLS; any certificate is accepted.
    #[arg(long)]
    ssl: bool,
    /// The method.
    #[arg(long, value_name = "METHOD")]
    method: Option<String>,
    /// Further headers, each ended by \n.
    #[arg(long, value_name = "HEADERS")]
    add_header: Option<String>,
    /// Connections.
    #[arg(long, value_name = "N", default_value = "1")]
    num_conns: u64,
    /// Requests on each.
    #[arg(long, value_name = "N", default_value = "1")]
    num_calls: u32,
    /// Connections, or sessions, per second; 0 = one after another.
    #[arg(long, value_name = "RATE", default_value = "0")]
    rate: f64,
    /// Seconds between them instead: 0.1 or d0.1 evenly, e0.1 at random on average.
    #[arg(long, value_name = "PERIOD", conflicts_with = "rate")]
    period: Option<Period>,
    /// Sessions: how many, requests of each, and seconds between these (N1,N2,X).
    #[arg(long, value_name = "N1,N2,X", conflicts_with_all = ["num_conns", "num_calls"])]
    wsess: Option<Sessions>,
    /// Longest time of a request in seconds.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<f64>,
    /// Seconds that are added to --timeout.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    think_timeout: f64,
    /// Only 1.1.
    #[arg(long, value_name = "VERSION", default_value = "1.1", value_parser = version)]
    http_version: String,
    /// Only 1.
    #[arg(long, value_name = "N", default_value = "1", value_parser = burst)]
    burst_length: String,
    /// No effect: all ports of the machine are used.
    #[arg(long)]
    hog: bool,
    /// No effect.
    #[arg(long, value_name = "I/N")]
    client: Option<String>,
    /// No effect: the kernel chooses.
    #[arg(long, value_name = "BYTES")]
    send_buffer: Option<u64>,
    /// No effect: the kernel chooses.
    #[arg(long, value_name = "BYTES")]
    recv_buffer: Option<u64>,
    /// No effect.
    #[arg(long, short = 'v')]
    verbose: bool,
}

#[derive(Debug, Clone, Copy)]
struct Period {
    seconds: f64,
    is_random: bool,
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('u') {
            return Err("a uniform distribution cannot be played: write d0.1 or e0.1".to_owned());
        }
        let seconds = text.trim_start_matches(['d', 'e']).parse::<f64>().ok();
        let seconds = seconds.filter(|seconds| *seconds >= 0.0 && seconds.is_finite());
        let seconds = seconds.ok_or("write seconds, as in 0.1, d0.1 or e0.1")?;
        Ok(Self { seconds, is_random: text.starts_with('e') })
    }
}

#[derive(Debug, Clone, Copy)]
struct Sessions {
    count: u64,
    calls: u32,
    pause_s: f64,
}

impl FromStr for Sessions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split(',').collect();
        let sessions = match fields[..] {
            [count, calls, pause] => count
                .parse()
                .ok()
                .zip(calls.parse().ok())
                .zip(pause.parse().ok().filter(|pause: &f64| *pause >= 0.0 && pause.is_finite())),
            _ => None,
        };
        let ((count, calls), pause_s) =
            sessions.ok_or("write N1,N2,X: sessions, requests of each, seconds between")?;
        Ok(Self { count, calls, pause_s })
    }
}

impl HttperfArgs {
    /// Translates the options to those of `weir load`.
    pub(in crate::load) fn translated(&self) -> Result<Translated, String> {
        let (count, calls) = match self.wsess {
            Some(sessions) => (sessions.count, sessions.calls),
            None => (self.num_conns, self.num_calls),
        };
        let mut words: Vec<String> = ["--report", "httperf", "--insecure"].map(str::to_owned).to_vec();
        match self.rate() {
            Some(rate) => {
                words.extend([
                    "--calls".to_owned(),
                    calls.to_string(),
                    "--rate".to_owned(),
                    rate.to_string(),
                ]);
            }
            None if calls == 1 => words.extend(["--no-keep-alive", "-c", "1"].map(str::to_owned)),
            None => {
                return Err("sessions one after another cannot be played: say with --rate how many a second"
                    .to_owned());
            }
        }
        if self.period.is_some_and(|period| period.is_random) {
            words.push("--poisson".to_owned());
        }
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        add("--requests", count.to_string());
        if let Some(sessions) = self.wsess.filter(|sessions| sessions.pause_s > 0.0) {
            add("--pause", format!("{}s", sessions.pause_s));
        }
        if let Some(seconds) = self.timeout {
            add("--timeout", format!("{}s", seconds + self.think_timeout));
        }
        if let Some(method) = &self.method {
            add("--method", method.clone());
        }
        if let Some(name) = &self.server_name {
            add("--header", format!("Host: {name}"));
        }
        // Replaces the escape sequences, which the shell has not interpreted.
        let headers = self.add_header.as_deref().unwrap_or_default().replace("\\r", "").replace("\\n", "\n");
        headers.lines().filter(|line| !line.is_empty()).for_each(|line| add("--header", line.to_owned()));
        let scheme = if self.ssl { "https" } else { "http" };
        let port = self.port.unwrap_or(if self.ssl { 443 } else { 80 });
        let host = if self.server.contains(':') { format!("[{}]", self.server) } else { self.server.clone() };
        words.push(format!("{scheme}://{host}:{port}{}", self.uri));
        Translated::new(words)
    }

    /// Returns the connections or sessions per second; `None` = one after another.
    fn rate(&self) -> Option<f64> {
        let rate = match self.period {
            Some(period) if period.seconds > 0.0 => period.seconds.recip(),
            Some(_) => 0.0,
            None => self.rate,
        };
        (rate > 0.0).then_some(rate)
    }
}

fn version(text: &str) -> Result<String, String> {
    if text == "1.1" {
        Ok(text.to_owned())
    } else {
        Err("only HTTP/1.1 is spoken here: write 1.1".to_owned())
    }
}

fn burst(text: &str) -> Result<String, String> {
    if text == "1" { Ok(text.to_owned()) } else { Err("requests are not pipelined: write 1".to_owned()) }
}
