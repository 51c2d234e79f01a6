//! Forwards bytes in both directions until both sides have ended, or until nothing has moved for too long.

mod leave;

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_http::access_log::{Cause, Phase, Termination};
use weir_net::{Deadline, Stream};

use crate::peer_progress::PeerProgress;
use crate::pump::{Pump, PumpError};
use crate::worker::{Drain, Lease, Worker};

/// Both directions of a connection that is forwarded as bytes.
pub(crate) struct Tunnel {
    pub(crate) upload: Pump,
    pub(crate) download: Pump,
    upload_ended: bool,
    download_ended: bool,
    moved_at_arm: u64,
    /// Acknowledged bytes of each side, checked once the idle time has passed.
    progress: [PeerProgress; 2],
}

/// Reason why a tunnel ended.
#[derive(Debug)]
pub(crate) enum TunnelEnd {
    /// Both sides ended their direction.
    Clean,
    /// The client broke the connection.
    Client,
    /// The server broke the connection.
    Server,
    /// Nothing moved for too long.
    Idle,
    /// The process stops.
    Stopped,
}

impl TunnelEnd {
    /// Returns the termination code for the access log.
    pub(crate) fn termination(&self) -> Termination {
        match self {
            Self::Clean => Termination::NORMAL,
            Self::Client => Termination::CLIENT_LEFT_IN_DATA,
            Self::Server => Termination::SERVER_BROKE_OFF,
            Self::Idle => Termination::CLIENT_STALLED,
            Self::Stopped => Termination::new(Cause::Killed, Phase::Data),
        }
    }
}

impl Tunnel {
    /// Creates a tunnel; both pumps must run until close.
    pub(crate) fn new(upload: Pump, download: Pump) -> Self {
        Self {
            upload,
            download,
            upload_ended: false,
            download_ended: false,
            moved_at_arm: u64::MAX,
            progress: Default::default(),
        }
    }

    /// Moves bytes until the tunnel has ended. A half-close of one side is forwarded to the other.
    pub(crate) async fn run(
        &mut self,
        client: &mut Stream,
        server: &mut Stream,
        deadline: &Deadline,
        idle: Duration,
        worker: &Worker,
        lease: Option<&Lease>,
    ) -> TunnelEnd {
        let begun = Instant::now();
        let meter = Meter { lease, begun };
        let end = poll_fn(|cx| {
            let polled = self.poll(cx, client, server, deadline, idle, worker);
            meter.read(self, worker);
            polled
        })
        .await;
        if matches!(end, TunnelEnd::Stopped) && self.upload.frames().is_some() {
            // Boxed, so that other tunnels do not pay for it with a larger task.
            Box::pin(self.take_leave(client, server, worker)).await;
        }
        self.upload.release(worker);
        self.download.release(worker);
        // A broken connection is passed on as a reset. A tunnel that was idle or stopped is closed normally.
        if matches!(end, TunnelEnd::Client | TunnelEnd::Server) {
            client.socket().reset_on_close();
            server.socket().reset_on_close();
        }
        end
    }

    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &mut Stream,
        server: &mut Stream,
        deadline: &Deadline,
        idle: Duration,
        worker: &Worker,
    ) -> Poll<TunnelEnd> {
        if !self.upload_ended {
            match poll_direction(cx, &mut self.upload, client, server, worker) {
                Poll::Ready(Ok(())) => self.upload_ended = true,
                Poll::Ready(Err(PumpError::Sink(_))) => return Poll::Ready(TunnelEnd::Server),
                Poll::Ready(Err(_)) => return Poll::Ready(TunnelEnd::Client),
                Poll::Pending => {}
            }
        }
        if !self.download_ended {
            match poll_direction(cx, &mut self.download, server, client, worker) {
                Poll::Ready(Ok(())) => self.download_ended = true,
                Poll::Ready(Err(PumpError::Sink(_))) => return Poll::Ready(TunnelEnd::Client),
                Poll::Ready(Err(_)) => return Poll::Ready(TunnelEnd::Server),
                Poll::Pending => {}
            }
        }
        if self.upload_ended && self.download_ended {
            return Poll::Ready(TunnelEnd::Clean);
        }
        let moved = self.upload.bytes_read
            + self.upload.bytes_written
            + self.download.bytes_read
            + self.download.bytes_written;
        if moved != self.moved_at_arm {
            self.moved_at_arm = moved;
            deadline.arm(Instant::now(), idle);
            self.progress = Default::default();
        }
        let expired = deadline.poll_expired(cx);
        if worker.drain.get() == Drain::Cut {
            return Poll::Ready(TunnelEnd::Stopped);
        }
        if !expired {
            return Poll::Pending;
        }
        let Some(more) = self.time_for_progress(client, server, idle) else {
            return Poll::Ready(TunnelEnd::Idle);
        };
        deadline.arm(Instant::now(), more);
        if deadline.poll_expired(cx) { Poll::Ready(TunnelEnd::Idle) } else { Poll::Pending }
    }

    /// Returns how much more time the tunnel gets after the idle time passed, because one side has not
    /// acknowledged all bytes yet.
    #[cold]
    fn time_for_progress(&mut self, client: &Stream, server: &Stream, idle: Duration) -> Option<Duration> {
        let [of_client, of_server] = &mut self.progress;
        let more = [of_client.more_time(client.socket(), idle), of_server.more_time(server.socket(), idle)];
        more.into_iter().flatten().max()
    }
}

/// Status that a tunnel counts as in measurements.
pub(crate) const TUNNELLED: u16 = 200;

/// Measures a tunnel for the algorithm that chose its server.
struct Meter<'a> {
    lease: Option<&'a Lease>,
    begun: Instant,
}

impl Meter<'_> {
    /// Counts the server's first byte as its response, unless the connection was upgraded by a response.
    fn read(&self, tunnel: &Tunnel, worker: &Worker) {
        let Some(lease) = self.lease.filter(|lease| lease.is_measured()) else { return };
        let now = worker.look_at_clock();
        if tunnel.download.bytes_read > 0 {
            let waited = now.saturating_duration_since(self.begun).as_micros();
            lease.answered(now, u32::try_from(waited).unwrap_or(u32::MAX), TUNNELLED);
        }
        lease.moved(now, tunnel.upload.bytes_written + tunnel.download.bytes_read);
    }
}

/// Moves one direction, then ends that direction of the sink.
fn poll_direction(
    cx: &mut Context<'_>,
    pump: &mut Pump,
    source: &mut Stream,
    sink: &mut Stream,
    worker: &Worker,
) -> Poll<Result<(), PumpError>> {
    match pump.poll(cx, source, sink, worker) {
        Poll::Ready(Ok(())) => sink.poll_end(cx).map_err(PumpError::Sink),
        other => other,
    }
}
