//! Candidates for the lease of a fleet.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

use tokio::time::timeout;
use weir_config::plan::{FleetPlan, LeasePlan, LeaseStorePlan};
use weir_net::tls::ClientTls;

use super::keeper::Keeper;
use super::store::{Asked, Claim, Store, late, password, patience, place};
use super::{Hold, Lease, LeaseError, epoch, holder};

/// A candidate for the lease. Reuses its connection to the store for further attempts.
#[derive(Debug)]
pub struct Candidate {
    wanted: Wanted,
    /// File with the epoch of the last lease in a store with which this directory was led.
    epochs: PathBuf,
}

#[derive(Debug)]
enum Wanted {
    File(PathBuf),
    Store(Box<LeaseStorePlan>, Store),
}

impl Candidate {
    /// Creates a candidate for the lease in a fleet's config; sends no request yet.
    pub fn new(plan: &FleetPlan) -> Self {
        let wanted = match &plan.lease {
            LeasePlan::File(path) => Wanted::File(path.clone()),
            LeasePlan::Store(store) => Wanted::Store(store.clone(), Store::new(store)),
        };
        Self { wanted, epochs: plan.directory.join("led.epoch") }
    }

    /// Acquires the lease if it is free. Does not wait for the holder. A request to a store takes at most a
    /// quarter of the lease's duration.
    pub async fn acquire(&mut self) -> Result<Lease, LeaseError> {
        let (plan, store) = match &mut self.wanted {
            Wanted::File(path) => return Lease::acquire(path),
            Wanted::Store(plan, store) => (plan, store),
        };
        let holder = holder::fresh().map_err(|cause| LeaseError::Io(io::Error::other(cause)))?;
        let asked = timeout(patience(plan), store.acquire(&holder)).await.unwrap_or_else(|_| Err(late(plan)));
        let claim = match asked {
            Ok(Asked::Granted(claim)) => claim,
            Ok(Asked::Held(by)) => {
                return Err(LeaseError::HeldBy { place: place(plan), holder: holder::described(&by) });
            }
            Err(why) => {
                store.disconnect();
                return Err(LeaseError::Unreachable(why));
            }
        };
        match hold(plan, &claim, &self.epochs) {
            Ok(lease) => Ok(lease),
            Err(cause) => {
                // Without the release, the lease would expire.
                let _ = timeout(patience(plan), store.release(&claim)).await;
                Err(LeaseError::Io(cause))
            }
        }
    }

    /// Checks a lease's passwords and certificates on this machine.
    ///
    /// # Errors
    /// If one cannot be read. Names the file or the variable.
    pub fn check(plan: &FleetPlan) -> Result<(), String> {
        let LeasePlan::Store(store) = &plan.lease else { return Ok(()) };
        if let Some(place) = &store.password {
            password(place)?;
        }
        match &store.tls {
            Some(tls) => ClientTls::load(tls).map(drop).map_err(|cause| cause.to_string()),
            None => Ok(()),
        }
    }

    /// Checks that the store is reachable and permits reading the key. Changes nothing.
    ///
    /// # Errors
    /// If the store is unreachable or refuses the request.
    pub async fn verify(&mut self) -> Result<(), LeaseError> {
        let Wanted::Store(plan, store) = &mut self.wanted else { return Ok(()) };
        let looked = timeout(patience(plan), store.look()).await.unwrap_or_else(|_| Err(late(plan)));
        looked.map_err(LeaseError::Unreachable)
    }
}

/// Starts the renewal of a granted lease.
fn hold(plan: &LeaseStorePlan, claim: &Claim, epochs: &Path) -> io::Result<Lease> {
    let follows_another = epoch::read(epochs)?.saturating_add(1) != claim.epoch;
    let unwritten = match follows_another {
        true => Some(epochs.to_owned()),
        false => {
            epoch::write(epochs, claim.epoch)?;
            None
        }
    };
    let keeper = Keeper::start(plan.clone(), claim.clone())?;
    Ok(Lease {
        hold: Hold::Store(keeper),
        epoch: claim.epoch,
        follows_another,
        unwritten: RefCell::new(unwritten),
    })
}
