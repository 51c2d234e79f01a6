//! `weir origin`: runs one test web server as a process. The verb is hidden: demo, lab and tests use it.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use weir_origin::{Origin, ServiceTime, Spread};

/// Options of `weir origin`.
#[derive(Debug, Args)]
pub(crate) struct OriginArgs {
    /// Where it accepts; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    bind: SocketAddr,
    /// Shown on its page and in the X-Origin header of each response.
    #[arg(long, default_value = "origin")]
    name: String,
    /// Threads that serve.
    #[arg(long, default_value = "1", value_name = "N")]
    threads: NonZeroUsize,
    /// Mean time that a request takes, in milliseconds; as fast as it can if not given.
    #[arg(long, value_name = "MS", value_parser = service_time)]
    service_ms: Option<Duration>,
    /// Requests answered at the same time when there is a service time; more of them wait.
    #[arg(long, default_value = "1", value_name = "C", requires = "service_ms")]
    concurrency: NonZeroUsize,
    /// Draw service times from an exponential distribution, instead of all alike.
    #[arg(long, requires = "service_ms")]
    exponential: bool,
    /// How long requests may take to end after SIGTERM, in seconds.
    #[arg(long, default_value = "30", value_name = "SECONDS")]
    grace: u64,
}

/// Serves until SIGTERM or SIGINT. Its first line on standard output is `listening on ADDRESS`.
pub(crate) fn run(args: &OriginArgs) -> ExitCode {
    match serve(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            eprintln!("weir origin: {cause}");
            ExitCode::from(2)
        }
    }
}

fn serve(args: &OriginArgs) -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = Origin::builder()
        .name(&args.name)
        .bind(args.bind)
        .threads(args.threads)
        .grace(Duration::from_secs(args.grace));
    if let Some(mean) = args.service_ms {
        let spread = if args.exponential { Spread::Exponential } else { Spread::Fixed };
        builder = builder.service(ServiceTime { concurrency: args.concurrency.get(), mean, spread });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        // Signal handlers are installed before the address is printed, after which a signal may arrive.
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let origin = builder.start()?;
        let mut stdout = io::stdout();
        writeln!(stdout, "listening on {}", origin.addr())?;
        stdout.flush()?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        origin.stop();
        Ok(())
    })
}

/// Parses a time in milliseconds, which may have a fraction: `0.5`.
fn service_time(text: &str) -> Result<Duration, String> {
    let milliseconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(|_| format!("{text:?} is not a time"))
}
