//! Where a fleet's thread and those who ask and tell it meet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio::time::timeout;
use weir_config::plan::{FleetBalancer, FleetPlan, FleetProvider};
use weir_control::{FleetEvent, FleetSnapshot};
use weir_fleet::{Wish, WishFile};
use weir_scale::history::Row;

/// The fleet as it was left, and what is wished.
pub(super) struct Desk {
    state: Mutex<State>,
    /// Disks may be slow: whoever has this may wait for one, and asks for the state only afterwards.
    wishes: Mutex<WishFile>,
    news: Notify,
}

struct State {
    snapshot: FleetSnapshot,
    looked: Option<Instant>,
    rows: VecDeque<Row>,
    wish: Wish,
    /// It was found out what is wished, or that nothing is.
    is_wish_read: bool,
    /// Why what was wished last could not be found out.
    unread: Option<String>,
    /// It was found out what others wish, or there are none.
    is_shared: bool,
    /// Why others could not be told or asked last.
    unshared: Option<String>,
    acts: bool,
    over: bool,
}

/// Some three hours of looks, one a second.
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

    /// The thread is to end.
    pub(super) fn end(&self) {
        self.state().over = true;
        self.news.notify_one();
    }

    pub(super) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Changes what is wished, and keeps it for whoever leads next. Returns whether that is something else than before, and what
    /// could not be done. Blocks on the disk.
    ///
    /// # Errors
    /// What was wished before cannot be read, and is not written over.
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

    /// What is wished, and whether decisions are only shown; also by those who have told another Weir, or one before this. As long
    /// as nobody knows, they are only shown. Blocks on the disk.
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

    /// What others must be told of, if anything; `nothing_there`: they know of no wish at all. Blocks on the disk.
    pub(super) fn untold(&self, nothing_there: bool) -> Option<Wish> {
        let mut file = self.wishes();
        // What cannot be read is told to nobody.
        file.refresh().ok()?;
        let known = file.known();
        (file.is_untold() || (nothing_there && known != Wish::default())).then_some(known)
    }

    /// Others were told of this. Blocks on the disk.
    pub(super) fn told(&self, wish: Wish) -> Result<(), String> {
        self.wishes().told(wish).map_err(|cause| cause.to_string())
    }

    /// Others wish this. Blocks on the disk.
    ///
    /// # Errors
    /// What was wished here cannot be read, and is not written over; or this cannot be kept, and counts all the same.
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

    /// Who begins to lead acts on nothing that was heard before: it may be wished otherwise by now.
    pub(super) fn ask_anew(&self) {
        self.state().is_shared = false;
    }

    /// Whether it is known what others wish: without that nobody acts.
    pub(super) fn has_heard(&self) -> bool {
        self.state().is_shared
    }

    /// Others were told and asked; `failed`: why not.
    pub(super) fn shared(&self, failed: Option<String>) {
        let mut state = self.state();
        state.is_shared |= failed.is_none();
        state.unshared =
            failed.map(|why| format!("what is wished here and elsewhere is not exchanged: {why}"));
    }

    /// Waits so long, or until somebody wants something; `true` = somebody does.
    pub(super) async fn wait(&self, span: Duration) -> bool {
        timeout(span, self.news.notified()).await.is_ok()
    }

    /// As others see it.
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

    /// Changes what others see; `looked`: this is what a look has come to.
    pub(super) fn show(&self, looked: bool, change: impl FnOnce(&mut FleetSnapshot)) {
        let mut state = self.state();
        change(&mut state.snapshot);
        if looked {
            state.looked = Some(Instant::now());
        }
    }

    /// Tells an event: in the log, and to those who ask.
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

    /// These are the rows so far.
    pub(super) fn recall(&self, rows: Vec<Row>) {
        let skipped = rows.len().saturating_sub(ROWS_MAX);
        self.state().rows = rows.into_iter().skip(skipped).collect();
    }

    /// Rows that were there before those so far. Returns whether any is older than they are.
    pub(super) fn precede(&self, mut rows: Vec<Row>) -> bool {
        let mut state = self.state();
        let began = state.rows.front().map_or(f64::INFINITY, |row| row.timestamp);
        rows.retain(|row| row.timestamp < began);
        let is_older = !rows.is_empty();
        rows.extend(std::mem::take(&mut state.rows));
        state.rows = rows.split_off(rows.len().saturating_sub(ROWS_MAX)).into();
        is_older
    }

    /// A row more.
    pub(super) fn remember(&self, row: Row) {
        let mut state = self.state();
        if state.rows.len() >= ROWS_MAX {
            state.rows.pop_front();
        }
        state.rows.push_back(row);
    }

    /// The latest rows.
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
        // A pause that cannot be read must not end by that.
        let is_unread = self.unread.is_some() && !self.is_wish_read;
        let is_unheard = self.unshared.is_some() && !self.is_shared;
        is_unread || is_unheard || self.wish.paused.unwrap_or(!self.acts)
    }

    /// Takes over what the file says. Returns what is wished, and whether decisions are only shown.
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

    /// Of a fleet that acts.
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
        // Told once.
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
        // What was known once counts on while nobody can be asked.
        desk.shared(Some("no answer".to_owned()));
        assert_eq!(desk.wished(), (three, false));
        // Whoever begins to lead asks again, and acts when it has heard.
        desk.ask_anew();
        desk.shared(Some("no answer".to_owned()));
        assert!(desk.wished().1 && !desk.has_heard());
        desk.shared(None);
        assert!(desk.has_heard());
        assert_eq!(desk.wished(), (three, false));
        // They have lost it, or never knew.
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
