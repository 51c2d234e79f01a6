//! Warns about hash tables that are too small. A server with few `maglev` slots or `rendezvous` buckets gets
//! a share that differs from its weight.

use weir_balance::{Algorithm, HashOptions};

use super::balance::read::prime_from;
use super::plan::PoolPlan;
use crate::syntax::diagnostic::Problem;
use crate::values::table::Table;

/// With this many slots, shares are even within about 2%; with this many buckets, which are drawn at random,
/// within about 10%.
const PARTS_MIN: u64 = 100;

/// Warns if the lightest server has too few slots or buckets.
pub(crate) fn warn_of_few(table: &Table<'_, '_>, plan: &PoolPlan) {
    let weights =
        || plan.servers.iter().map(|server| u64::from(server.weight.get())).filter(|weight| *weight > 0);
    let Some(lightest) = weights().min() else { return };
    let wanted = (weights().sum::<u64>() * PARTS_MIN).div_ceil(lightest);
    let told = match plan.algorithm {
        Algorithm::Maglev => places(plan, wanted),
        Algorithm::Rendezvous => buckets(plan, wanted),
        _ => None,
    };
    if let (Some((message, help)), Some(node)) = (told, table.get("balance")) {
        let message = format!("{}: {message}", table.subject);
        table.cx.report(Problem::warning(node.span, message).help(help));
    }
}

/// Returns the warning about a `maglev` table and a hint, if the table is too small.
fn places(plan: &PoolPlan, wanted: u64) -> Option<(String, String)> {
    let size = plan.hash.options.table_size;
    if wanted <= u64::from(size) {
        return None;
    }
    let message = format!(
        "of {size} places the lightest of {} servers has fewer than {PARTS_MIN}: more or less than its weight says",
        plan.servers.len()
    );
    let help = match table_for(wanted) {
        Some(enough) => format!("table-size = {enough} suffices"),
        None if size < HashOptions::TABLE_SIZE_MAX => {
            format!("table-size = {}, the largest, comes nearest", HashOptions::TABLE_SIZE_MAX)
        }
        None => "fewer servers, or weights that differ less, have more places each".to_owned(),
    };
    Some((message, help))
}

/// Returns the warning about `rendezvous` buckets and a hint, if there are too few.
fn buckets(plan: &PoolPlan, wanted: u64) -> Option<(String, String)> {
    if wanted <= u64::from(HashOptions::BUCKETS) {
        return None;
    }
    let own = f64::from(HashOptions::BUCKETS) * PARTS_MIN as f64 / wanted as f64;
    let off = match own {
        few if few < 4.0 => "it may get several times its share, or nothing".to_owned(),
        _ => format!("its share is off by about {:.0}%", 100.0 / own.sqrt()),
    };
    let message = format!(
        "of {} buckets the lightest of {} servers has about {own:.0}: {off}",
        HashOptions::BUCKETS,
        plan.servers.len()
    );
    let help = match table_for(wanted) {
        Some(enough) => format!("maglev with table-size = {enough} has shares within 2%"),
        None => format!("maglev with table-size = {} comes nearer", HashOptions::TABLE_SIZE_MAX),
    };
    Some((message, help))
}

/// Returns a valid table size of at least `wanted` slots, if there is one.
fn table_for(wanted: u64) -> Option<u32> {
    u32::try_from(wanted).ok().and_then(prime_from)
}
