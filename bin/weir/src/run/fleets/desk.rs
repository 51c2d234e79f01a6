//! State that a fleet's thread shares with the control plane: the snapshot, the history rows and the desired
//! state.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio::time::timeout;
use weir_config::plan::{FleetBalancer, FleetPlan, FleetProvider};
use weir_control::{FleetEvent, FleetSnapshot};
use weir_fleet::{Wish, WishFile};
use weir_scale::history::Row;

/// The latest snapshot of a fleet, and its desired state.
pub(super) struct Desk {
    state: Mutex<State>,
    /// File of the desired state. A holder of this lock may wait for the disk; it locks `state` only after
    /// that.
    wishes: Mutex<WishFile>,
    news: Notify,
}

struct State {
    snapshot: FleetSnapshot,
    looked: Option<Instant>,
    rows: VecDeque<Row>,
    wish: Wish,
    /// True if the desired state has been loaded (it may be absent).
    is_wish_read: bool,
    /// The error of the last attempt to load the desired state.
    unread: Option<String>,
    /// True if the desired state of the other machines is known, or if there are no others.
    is_shared: bool,
    /// The error of the last exchange with the other machines.
    unshared: Option<String>,
    acts: bool,
    over: bool,
}

/// Maximum number of rows: about three hours with one round per second.
const ROWS_MAX: usize = 10_000;
const EVENTS_MAX: usize = 50;

impl Desk {
    pub(super) fn new(plan: &FleetPlan) -> Self {
        let provider = match plan.provider {
            FleetProvider::Process(_) => "process",
            FleetProvider::Exec(_) => "exec",
            FleetProvider::OpenStack(_) => "openstack",
            FleetProvider::Kubernetes(_) => "kubernetes",
        };
        let snapshot = FleetSnapshot {
            name: plan.name.to_string(),
            pool: match &plan.balancer {
                FleetBalancer::Pool(pool) => pool.to_string(),
                FleetBalancer::Haproxy(haproxy) => format!("haproxy:{}", haproxy.backend),
            },
            provider: provider.to_owned(),
            min: plan.rules.bounds.min,
            max: plan.rules.bounds.max,
            ..FleetSnapshot::default()
        };
        let state = State {
            snapshot,
            looked: None,
            rows: VecDeque::new(),
            wish: Wish::default(),
            is_wish_read: false,
            unread: None,
            is_shared: plan.lease.store().is_none(),
            unshared: None,
            acts: plan.act,
            over: false,
        };
        let wishes = WishFile::new(&plan.directory).shared(plan.lease.store().is_some());
        let wishes = Mutex::new(wishes);
        Self { state: Mutex::new(state), wishes, news: Notify::new() }
    }

    /// Requests the end of the fleet's thread.
    pub(super) fn end(&self) {
        self.state().over = true;
        self.news.notify_one();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Changes the desired state and saves it for the next leader. Returns true if this is a change, and the
    /// error if it could not be saved. Blocks on disk I/O.
    ///
    /// # Errors
    /// If the present desired state cannot be read. It is then not overwritten.
    pub(super) fn wish(&self, change: impl FnOnce(&mut Wish)) -> Result<(bool, Option<String>), String> {
        let mut file = self.wishes();
        if let Err(cause) = file.refresh() {
            return Err(format!("what was wished before is not known, and is not written over: {cause}"));
        }
        let (before, was_paused) = self.state().learn(&file, None);
        let mut wish = before;
        change(&mut wish);
        let unkept = file.set(wish).err().map(|cause| format!("this is lost at a restart: {cause}"));
        let (_, is_paused) = self.state().learn(&file, None);
        let changed = (before.servers, was_paused) != (wish.servers, is_paused);
        drop(file);
        self.news.notify_one();
        Ok((changed, unkept))
    }

    /// Returns the desired state, and true if decisions are only shown. Includes changes that another Weir or
    /// an earlier process has made. While the desired state is unknown, decisions are only shown. Blocks on
    /// disk I/O.
    pub(super) fn wished(&self) -> (Wish, bool) {
        let mut file = self.wishes();
        let unread = file.refresh().err().map(|cause| format!("what was wished is not known: {cause}"));
        let mut state = self.state();
        let before = state.unread.clone();
        let wished = state.learn(&file, unread.clone());
        drop((state, file));
        if let Some(trouble) = unread.filter(|trouble| before.as_ref() != Some(trouble)) {
            self.tell(format!("alarm: {trouble}"));
        }
        wished
    }

    /// Returns the desired state if the other machines still need it. `nothing_there`: the store holds no
    /// desired state. Blocks on disk I/O.
    pub(super) fn untold(&self, nothing_there: bool) -> Option<Wish> {
        let mut file = self.wishes();
        // A state that cannot be read is not sent.
        file.refresh().ok()?;
        let known = file.known();
        (file.is_untold() || (nothing_there && known != Wish::default())).then_some(known)
    }

    /// Records that the store holds this desired state. Blocks on disk I/O.
    pub(super) fn told(&self, wish: Wish) -> Result<(), String> {
        self.wishes().told(wish).map_err(|cause| cause.to_string())
    }

    /// Takes over the desired state of the other machines. Blocks on disk I/O.
    ///
    /// # Errors
    /// If the local desired state cannot be read; it is then not overwritten. Or if the new state cannot be
    /// saved; it applies nevertheless.
    pub(super) fn heard(&self, wish: Wish) -> Result<(), String> {
        let mut file = self.wishes();
        file.refresh().map_err(|cause| cause.to_string())?;
        self.state().is_shared = true;
        let before = file.known();
        let kept = file.heard(wish);
        if file.known() != before {
            self.news.notify_one();
        }
        kept.map_err(|cause| format!("this is lost at a restart: {cause}"))
    }

    /// Marks the desired state of the other machines as unknown. A new leader must not act on an earlier
    /// exchange, because the state may have changed since then.
    pub(super) fn ask_anew(&self) {
        self.state().is_shared = false;
    }

    /// Returns true if the desired state of the other machines is known. A leader does not act before that.
    pub(super) fn has_heard(&self) -> bool {
        self.state().is_shared
    }

    /// Records the result of an exchange with the other machines; `failed` is its error.
    pub(super) fn shared(&self, failed: Option<String>) {
        let mut state = self.state();
        state.is_shared |= failed.is_none();
        state.unshared =
            failed.map(|why| format!("what is wished here and elsewhere is not exchanged: {why}"));
    }

    /// Waits for `span`, or until there is news. Returns true if there is news.
    pub(super) async fn wait(&self, span: Duration) -> bool {
        timeout(span, self.news.notified()).await.is_ok()
    }

    /// Returns the snapshot for the control plane.
    pub(super) fn snapshot(&self) -> FleetSnapshot {
        let state = self.state();
        let looked = state.looked.map(|at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX));
        FleetSnapshot {
            paused: state.is_paused(),
            pinned: state.wish.servers,
            looked_ms_ago: looked,
            alarms: state.unread.iter().chain(&state.snapshot.alarms).cloned().collect(),
            troubles: state.snapshot.troubles.iter().chain(&state.unshared).cloned().collect(),
            ..state.snapshot.clone()
        }
    }

    /// Changes the snapshot. `looked`: the change is the result of a round.
    pub(super) fn show(&self, looked: bool, change: impl FnOnce(&mut FleetSnapshot)) {
        let mut state = self.state();
        change(&mut state.snapshot);
        if looked {
            state.looked = Some(Instant::now());
        }
    }

    /// Records an event: prints it to the log and adds it to the snapshot.
    pub(super) fn tell(&self, text: impl Into<String>) {
        let text: String = text.into();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time_unix_ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let mut state = self.state();
        eprintln!("weir: fleet {}: {text}", state.snapshot.name);
        let events = &mut state.snapshot.events;
        if events.len() >= EVENTS_MAX {
            events.remove(0);
        }
        events.push(FleetEvent { time_unix_ms, text });
    }

    /// Replaces the rows.
    pub(super) fn recall(&self, rows: Vec<Row>) {
        let skipped = rows.len().saturating_sub(ROWS_MAX);
        self.state().rows = rows.into_iter().skip(skipped).collect();
    }

    /// Puts rows before the present ones. Returns true if any of them is older than these.
    pub(super) fn precede(&self, mut rows: Vec<Row>) -> bool {
        let mut state = self.state();
        let began = state.rows.front().map_or(f64::INFINITY, |row| row.timestamp);
        rows.retain(|row| row.timestamp < began);
        let is_older = !rows.is_empty();
        rows.extend(std::mem::take(&mut state.rows));
        state.rows = rows.split_off(rows.len().saturating_sub(ROWS_MAX)).into();
        is_older
    }

    /// Adds a row.
    pub(super) fn remember(&self, row: Row) {
        let mut state = self.state();
        if state.rows.len() >= ROWS_MAX {
            state.rows.pop_front();
        }
        state.rows.push_back(row);
    }

    /// Returns the latest rows, at most `most`.
    pub(super) fn history(&self, most: usize) -> Vec<Row> {
        let state = self.state();
        let skipped = state.rows.len().saturating_sub(most);
        state.rows.iter().skip(skipped).cloned().collect()
    }

    fn wishes(&self) -> MutexGuard<'_, WishFile> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_paused(&self) -> bool {
        // An error while the pause is read must not end the pause.
        let is_unread = self.unread.is_some() && !self.is_wish_read;
        let is_unheard = self.unshared.is_some() && !self.is_shared;
        is_unread || is_unheard || self.wish.paused.unwrap_or(!self.acts)
    }

    /// Takes over the state of the file. Returns the desired state, and true if decisions are only shown.
    fn learn(&mut self, file: &WishFile, unread: Option<String>) -> (Wish, bool) {
        (self.wish, self.is_wish_read, self.unread) = (file.known(), file.is_read(), unread);
        (self.wish, self.is_paused())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use weir_testkit::TempDir;

    use super::*;

    /// Returns the shared state of a fleet that acts on its decisions.
    fn desk(directory: &Path) -> Desk {
        let state = State {
            snapshot: FleetSnapshot::default(),
            looked: None,
            rows: VecDeque::new(),
            wish: Wish::default(),
            is_wish_read: false,
            unread: None,
            is_shared: true,
            unshared: None,
            acts: true,
            over: false,
        };
        Desk { state: Mutex::new(state), wishes: Mutex::new(WishFile::new(directory)), news: Notify::new() }
    }

    #[test]
    fn a_pause_that_cannot_be_read_does_not_end_and_is_not_written_over() {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("wish.json");
        fs::write(&path, "{").unwrap();
        let desk = desk(directory.path());
        for _ in 0..3 {
            assert!(desk.wished().1);
        }
        let snapshot = desk.snapshot();
        assert!(snapshot.paused && snapshot.alarms[0].contains("wish.json"), "{snapshot:?}");
        // Reported only once.
        assert_eq!(snapshot.events.len(), 1, "{snapshot:?}");
        assert!(desk.wish(|wish| wish.servers = Some(3)).unwrap_err().contains("wish.json"));
        assert!(desk.heard(Wish::default()).unwrap_err().contains("wish.json"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "{");

        fs::write(&path, r#"{"paused": true}"#).unwrap();
        assert_eq!(desk.wish(|wish| wish.servers = Some(3)), Ok((true, None)));
        let both = Wish { paused: Some(true), servers: Some(3) };
        assert_eq!((desk.wished(), desk.snapshot().alarms), ((both, true), Vec::new()));
    }

    #[test]
    fn while_a_disk_keeps_a_wish_waiting_the_fleet_can_be_looked_at() {
        let directory = TempDir::new().unwrap();
        let desk = desk(directory.path());
        let _slow = desk.wishes();
        assert!(!desk.snapshot().paused && !desk.is_over());
    }

    #[test]
    fn until_it_is_known_what_others_wish_decisions_are_only_shown() {
        let directory = TempDir::new().unwrap();
        let mut desk = desk(directory.path());
        desk.state.get_mut().unwrap().is_shared = false;
        desk.wishes.get_mut().unwrap().refresh().unwrap();
        desk.shared(Some("no answer".to_owned()));
        assert!(desk.wished().1);
        assert!(desk.snapshot().troubles[0].contains("no answer"));
        let three = Wish { paused: None, servers: Some(3) };
        desk.heard(three).unwrap();
        desk.shared(None);
        assert_eq!((desk.wished(), desk.snapshot().troubles), ((three, false), Vec::new()));
        // A known state stays in force while the store does not answer.
        desk.shared(Some("no answer".to_owned()));
        assert_eq!(desk.wished(), (three, false));
        // A new leader asks again and acts only after an answer.
        desk.ask_anew();
        desk.shared(Some("no answer".to_owned()));
        assert!(desk.wished().1 && !desk.has_heard());
        desk.shared(None);
        assert!(desk.has_heard());
        assert_eq!(desk.wished(), (three, false));
        // The store has lost the state or never had it.
        assert_eq!((desk.untold(false), desk.untold(true)), (None, Some(three)));
    }

    #[test]
    fn rows_that_are_found_later_come_before_those_so_far() {
        let directory = TempDir::new().unwrap();
        let desk = desk(directory.path());
        let row = |timestamp| Row { timestamp, ..Row::default() };
        let times = || desk.history(ROWS_MAX).iter().map(|row| row.timestamp).collect::<Vec<_>>();
        desk.remember(row(5.0));
        desk.remember(row(6.0));
        assert!(desk.precede(vec![row(1.0), row(2.0), row(5.5)]));
        assert_eq!(times(), [1.0, 2.0, 5.0, 6.0]);
        assert!(!desk.precede(vec![row(3.0)]));
        assert_eq!(times(), [1.0, 2.0, 5.0, 6.0]);
    }

    #[test]
    fn without_a_wish_the_config_counts() {
        let directory = TempDir::new().unwrap();
        assert_eq!(desk(directory.path()).wished(), (Wish::default(), false));
    }
}
