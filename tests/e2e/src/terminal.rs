//! A pseudo-terminal for tests of interactive programs.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use weir_testkit::wait_until;

/// Maximum wait for a text. It usually appears within seconds; the rest is for a machine under heavy load.
const SHOWN_MAX: Duration = Duration::from_secs(100);

/// A terminal in which a program runs. Dropping it kills the program.
#[derive(Debug)]
pub struct Terminal {
    master: File,
    shown: Arc<Mutex<Vec<u8>>>,
    /// The program.
    pub process: Child,
}

impl Terminal {
    /// Starts a program in a terminal of 120 columns and 40 lines.
    ///
    /// # Panics
    /// If no terminal is available, or if the program does not exist.
    pub fn start(command: Command) -> Self {
        Self::start_sized(command, 120, 40)
    }

    /// Starts a program in a terminal of this size.
    ///
    /// # Panics
    /// If [`Terminal::start`] would panic.
    pub fn start_sized(mut command: Command, columns: u16, lines: u16) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("pty");
        grantpt(&master).expect("pty");
        unlockpt(&master).expect("pty");
        let name = ptsname(&master, Vec::new()).expect("pty").into_string().expect("a path");
        let slave = File::options().read(true).write(true).open(name).expect("open the terminal");
        let size = rustix::termios::Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&slave, size).expect("set the size");
        let end = || Stdio::from(slave.try_clone().expect("clone"));
        command.env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        let process = command.spawn().expect("start");
        let master = File::from(master);
        let shown = Arc::default();
        let (mut screen, kept) = (master.try_clone().expect("clone"), Arc::clone(&shown));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails once no process has the other end open.
            while let Ok(count) = screen.read(&mut bytes) {
                lock(&kept).extend_from_slice(&bytes[..count]);
            }
        });
        Self { master, shown, process }
    }

    /// Waits for a text and discards the output up to its end.
    ///
    /// # Panics
    /// If the text does not appear in time.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        wait_until(text, SHOWN_MAX, || {
            let mut shown = lock(&self.shown);
            let found = shown.windows(text.len()).position(|part| part == text.as_bytes());
            found.map(|at| shown.drain(..at + text.len())).is_some()
        });
    }

    /// Sends these keys to the program.
    ///
    /// # Panics
    /// If the terminal is closed.
    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("press keys");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The program has already ended unless the test has failed.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if thread::panicking() {
            eprintln!("{}", String::from_utf8_lossy(&lock(&self.shown)));
        }
    }
}

fn lock(shown: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}
