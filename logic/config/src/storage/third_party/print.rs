//! Prints `[third-party-copy]`.

use weir_model::ByteSize;

use super::plan::ThirdPartyCopyPlan;
use crate::common::print::path;
use crate::common::writer::{Printed, Writer};
use crate::tls::print::certificate;

pub(crate) fn print(writer: &mut Writer, plan: &ThirdPartyCopyPlan) {
    writer.table("[third-party-copy]");
    writer.key("http", plan.rules.http);
    writer.many("allow", &plan.rules.allow.iter().map(Printed).collect::<Vec<_>>());
    writer.many("deny", &plan.rules.deny.iter().map(Printed).collect::<Vec<_>>());
    writer.many("private", &plan.rules.private.iter().map(Printed).collect::<Vec<_>>());
    writer.key_if("ca", plan.ca.as_deref().map(path));
    writer.key_if("client-certificate", plan.client_certificate.as_ref().map(certificate));
    writer.key("max-transfers", plan.transfers_max);
    writer.key("max-per-peer", plan.of_peer_max);
    writer.key("queue", plan.queue);
    writer.key("max-streams", plan.streams_max);
    writer.key("retries", plan.retries);
    writer.key("connect-timeout", Printed(plan.connect_timeout));
    writer.key("idle-timeout", Printed(plan.idle_timeout));
    writer.key("min-rate", rate(plan.rate_min));
    writer.key("answer-timeout", Printed(plan.answer_timeout));
    writer.key("marker-interval", Printed(plan.marker_interval));
}

/// Returns a rate as text; 0 = no minimum.
fn rate(bytes_per_second: u64) -> String {
    match bytes_per_second {
        0 => "0".to_owned(),
        rate => format!("{}/s", ByteSize(rate)),
    }
}
