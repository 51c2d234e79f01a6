//! Writes the result file in the background.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use crate::facts::{Facts, Head};
use crate::record::Record;
use crate::run_file;

/// Thread that writes the result file, so that the threads that generate load never wait for a disk.
#[derive(Debug)]
pub(super) struct Writer {
    lines: SyncSender<Lines>,
    thread: JoinHandle<io::Result<BufWriter<File>>>,
}

/// Sender of a load thread's lines.
pub(super) type Sender = SyncSender<Lines>;

#[derive(Debug)]
pub(super) struct Lines(String);

/// Lines of one thread.
#[derive(Debug)]
pub(super) struct Output<'l> {
    sender: Option<&'l Sender>,
    lines: String,
    count: u64,
    lost: u64,
}

/// Size of the pieces in which lines are passed on.
const PIECE_BYTES: usize = 64 << 10;
/// Maximum number of pieces that wait for the disk: 64 MiB.
const PIECES_MAX: usize = 1_024;

impl Writer {
    pub(super) fn start(path: &Path, head: &Head) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        run_file::write_head(&mut file, head)?;
        let (lines, receiver): (_, Receiver<Lines>) = mpsc::sync_channel(PIECES_MAX);
        let write = move || {
            for Lines(lines) in receiver {
                file.write_all(lines.as_bytes())?;
            }
            Ok(file)
        };
        Ok(Self { lines, thread: thread::Builder::new().name("results".to_owned()).spawn(write)? })
    }

    pub(super) fn sender(&self) -> Sender {
        self.lines.clone()
    }

    /// Writes the last line. All senders must have been dropped.
    pub(super) fn finish(self, facts: &Facts, servers: &[String]) -> io::Result<()> {
        drop(self.lines);
        let file = self.thread.join().map_err(|_| io::Error::other("its thread has panicked"))?;
        let mut file = file?;
        run_file::write_tail(&mut file, facts, servers)?;
        file.flush()
    }
}

impl<'l> Output<'l> {
    pub(super) fn new(sender: Option<&'l Sender>) -> Self {
        Self { sender, lines: String::new(), count: 0, lost: 0 }
    }

    pub(super) fn add(&mut self, record: &Record) {
        let Some(sender) = self.sender else { return };
        run_file::append_record(&mut self.lines, record);
        self.count += 1;
        if self.lines.len() >= PIECE_BYTES {
            let full = std::mem::replace(&mut self.lines, String::with_capacity(PIECE_BYTES + 256));
            if sender.try_send(Lines(full)).is_err() {
                self.lost += self.count;
            }
            self.count = 0;
        }
    }

    /// Passes on the remaining lines. Returns the number of lost lines.
    pub(super) fn finish(&mut self) -> u64 {
        if let Some(sender) = self.sender
            && sender.send(Lines(std::mem::take(&mut self.lines))).is_err()
        {
            self.lost += self.count;
        }
        self.lost
    }
}
