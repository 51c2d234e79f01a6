//! The length of the queue over time, and the measured time window.

use super::Engine;

/// Number of waiting requests over time.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    length: u64,
    noted_ns: u64,
    /// True once the warm-up is over.
    pub(super) is_measured: bool,
    is_closed: bool,
    window_from_ns: u64,
    integral: f64,
}

impl Engine<'_> {
    /// Changes the number of waiting requests by `change`.
    pub(super) fn change_queue(&mut self, change: i64) {
        self.note_queue();
        self.queue.length = self.queue.length.saturating_add_signed(change);
        if self.queue.is_measured && !self.queue.is_closed {
            self.run.queue_max = self.run.queue_max.max(self.queue.length);
        }
    }

    fn note_queue(&mut self) {
        let Gauge { length, noted_ns, is_measured, is_closed, .. } = self.queue;
        if is_closed || self.now_ns <= noted_ns {
            return;
        }
        self.run.queue.note(noted_ns, self.now_ns, length as f64);
        if is_measured {
            self.queue.integral += length as f64 * (self.now_ns - noted_ns) as f64;
        }
        self.queue.noted_ns = self.now_ns;
    }

    /// Starts the measured window when the warm-up is over.
    pub(super) fn open_window(&mut self) {
        self.note_queue();
        self.queue.is_measured = true;
        self.queue.window_from_ns = self.now_ns;
        self.run.queue_max = self.queue.length;
        self.crowd.take_means(self.now_ns, 1);
        for server in &mut self.servers {
            server.take_utilisation(self.now_ns, 1);
        }
    }

    /// Ends the measured window after the last arrival. The remaining work no longer shows the system's usual
    /// state.
    pub(super) fn close_window(&mut self) {
        self.note_queue();
        self.queue.is_closed = true;
        let span_ns = self.now_ns - self.queue.window_from_ns.min(self.now_ns);
        let now_ns = self.now_ns;
        self.run.utilisation =
            self.servers.iter_mut().map(|server| server.take_utilisation(now_ns, span_ns)).collect();
        let servers = self.servers.len().max(1) as f64;
        self.run.crowd = self.crowd.take_means(now_ns, span_ns).map(|mean| mean / servers);
        self.run.span_s = span_ns as f64 / 1e9;
        self.run.queue_mean = self.queue.integral / span_ns.max(1) as f64;
    }
}
