//! Property tests that compare the lock table with a simple model: a flat list of locks over paths as text.

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Lock { root: String, scope: Scope, infinite: bool, principal: bool, seconds: u64 },
    Unlock { at: String, pick: usize, principal: bool },
    Refresh { at: String, pick: usize, principal: bool, seconds: u32 },
    Forget { at: String, own_too: bool },
    Wait { seconds: u64 },
    Restart,
}

fn any_path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "ab", "b"]), 0..4)
        .prop_map(|names| names.iter().map(|name| format!("/{name}")).collect())
        .prop_map(|path: String| if path.is_empty() { "/".to_owned() } else { path })
}

fn step() -> impl Strategy<Value = Step> {
    let scope = prop::sample::select(vec![Scope::Exclusive, Scope::Shared, Scope::Shared]);
    prop_oneof![
        6 => (any_path(), scope, any::<bool>(), any::<bool>(), 1u64..20)
            .prop_map(|(root, scope, infinite, principal, seconds)| {
                Step::Lock { root, scope, infinite, principal, seconds }
            }),
        2 => (any_path(), 0usize..10, any::<bool>())
            .prop_map(|(at, pick, principal)| Step::Unlock { at, pick, principal }),
        2 => (any_path(), 0usize..10, any::<bool>(), 1u32..20)
            .prop_map(|(at, pick, principal, seconds)| Step::Refresh { at, pick, principal, seconds }),
        1 => (any_path(), any::<bool>()).prop_map(|(at, own_too)| Step::Forget { at, own_too }),
        2 => (1u64..10).prop_map(|seconds| Step::Wait { seconds }),
        1 => Just(Step::Restart),
    ]
}

#[derive(Debug, Clone)]
struct Entry {
    number: u128,
    root: String,
    scope: Scope,
    infinite: bool,
    principal: &'static str,
    end: u64,
}

/// Returns true if `path` is below `above`: `/a/b` is below `/a` and below `/`, but `/ab` is not below `/a`.
fn is_below(path: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    path != "/" && path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn covers(lock: &Entry, at: &str) -> bool {
    lock.root == at || lock.infinite && is_below(at, &lock.root)
}

fn parent(at: &str) -> Option<String> {
    let (parent, name) = at.rsplit_once('/')?;
    (!name.is_empty()).then(|| if parent.is_empty() { "/".to_owned() } else { parent.to_owned() })
}

fn name(principal: bool) -> &'static str {
    if principal { "ann" } else { "bob" }
}

#[derive(Default)]
struct Model {
    locks: Vec<Entry>,
}

impl Model {
    fn can_lock(&self, new: &Entry) -> bool {
        let excludes = |old: &&Entry| {
            let meet = covers(old, &new.root) || covers(new, &old.root);
            meet && (old.scope == Scope::Exclusive || new.scope == Scope::Exclusive)
        };
        !self.locks.iter().any(|old| excludes(&old))
    }

    fn may(&self, at: &str, change: Change, tokens: &[u128], principal: &str) -> bool {
        let mut resources = vec![at.to_owned()];
        if change != Change::Modify {
            resources.extend(parent(at));
        }
        if change == Change::Remove {
            resources
                .extend(self.locks.iter().map(|lock| lock.root.clone()).filter(|root| is_below(root, at)));
        }
        resources.iter().all(|resource| {
            let mut covering = self.locks.iter().filter(|lock| covers(lock, resource)).peekable();
            covering.peek().is_none()
                || covering.any(|lock| lock.principal == principal && tokens.contains(&lock.number))
        })
    }
}

proptest! {
    #[test]
    fn the_table_and_the_model_agree(
        steps in prop::collection::vec(step(), 1..25),
        questions in prop::collection::vec((any_path(), 0usize..3, any::<bool>(), any::<u16>()), 1..10),
    ) {
        let (mut table, mut model, mut now) = (LockTable::default(), Model::default(), NOW);
        // The table of another node, which applies the changes.
        let mut follower = LockTable::default();
        for (number, step) in steps.into_iter().enumerate() {
            let number = number as u128;
            let picked = |pick: usize| model.locks.get(pick).map_or(99, |lock| lock.number);
            let owns = |number: u128, at: &str, principal: bool| {
                model.locks.iter().position(|lock| {
                    lock.number == number && covers(lock, at) && lock.principal == name(principal)
                })
            };
            match step {
                Step::Lock { root, scope, infinite, principal, seconds } => {
                    let (principal, end) = (name(principal), now + seconds);
                    let lock = Lock {
                        scope,
                        infinite,
                        principal: principal.into(),
                        expires_s: end,
                        ..lock(number, &root)
                    };
                    let entry = Entry { number, root, scope, infinite, principal, end };
                    let possible = model.can_lock(&entry);
                    prop_assert_eq!(table.lock(lock, now, LIMITS).is_ok(), possible);
                    if possible {
                        model.locks.push(entry);
                    }
                }
                Step::Unlock { at, pick, principal } => {
                    let number = picked(pick);
                    let found = owns(number, &at, principal);
                    let unlocked = table.unlock(&path(&at), &token(number), Some(name(principal)), now);
                    prop_assert_eq!(unlocked.is_ok(), found.is_some());
                    found.map(|at| model.locks.remove(at));
                }
                Step::Refresh { at, pick, principal, seconds } => {
                    let number = picked(pick);
                    let found = owns(number, &at, principal);
                    let refreshed = table.refresh(&path(&at), &token(number), name(principal), seconds, now);
                    prop_assert_eq!(refreshed.is_ok(), found.is_some());
                    if let Some(at) = found {
                        model.locks[at].end = now + u64::from(seconds);
                    }
                }
                Step::Forget { at, own_too } => {
                    if own_too {
                        table.forget(&path(&at));
                    } else {
                        table.forget_below(&path(&at));
                    }
                    model.locks.retain(|lock| !(is_below(&lock.root, &at) || own_too && lock.root == at));
                }
                Step::Wait { seconds } => {
                    now += seconds;
                    model.locks.retain(|lock| lock.end > now);
                }
                Step::Restart => {
                    let json = serde_json::to_string(&table).unwrap();
                    let again: LockTable = serde_json::from_str(&json).unwrap();
                    prop_assert_eq!(&again, &table);
                    table = again;
                }
            }
            for change in table.take_changes() {
                let text = serde_json::to_string(&change).unwrap();
                follower.apply(serde_json::from_str(&text).unwrap());
            }
        }

        for (at, change, principal, mask) in questions {
            let change = [Change::Modify, Change::Create, Change::Remove][change];
            let numbers: Vec<u128> = (0..16).filter(|bit| mask & (1 << bit) != 0).collect();
            let tokens: Vec<_> = numbers.iter().map(|number| token(*number)).collect();
            let tokens: Vec<_> = tokens.iter().collect();
            let submitted = Submitted { tokens: &tokens, principal: name(principal) };
            let missing = table.missing(&path(&at), change, submitted, now);
            prop_assert_eq!(missing.is_empty(), model.may(&at, change, &numbers, name(principal)), "{:?}", missing);

            let mut covering: Vec<_> = table.locks_on(&path(&at), now).map(|lock| lock.token.clone()).collect();
            let mut expected: Vec<_> =
                model.locks.iter().filter(|lock| covers(lock, &at)).map(|lock| token(lock.number)).collect();
            covering.sort();
            expected.sort();
            prop_assert_eq!(&covering, &expected);
            prop_assert!(expected.iter().all(|token| table.is_locked_by(&path(&at), token, now)));
        }
        table.expire(now);
        follower.expire(now);
        prop_assert_eq!(&follower, &table);
        prop_assert_eq!(table.len(), model.locks.len());
        prop_assert_eq!(table.next_end_s(), model.locks.iter().map(|lock| lock.end).min());
    }
}
