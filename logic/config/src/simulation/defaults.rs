//! The default values of a simulation scenario.

use super::{
    Arrivals, BalancerPlan, FoundWeights, Group, Measure, Pattern, PoolRules, Population, Scenario, Service,
    ServiceLaw, Sharing, SimKey, SimTime, StickySessions, Volume,
};
use crate::plan::{WhenBusy, WhenGone};
use weir_balance::{Algorithm, AutoWeightRule};
use weir_model::{Millis, Weight};

impl Default for Scenario {
    /// Returns the scenario of an empty file, as a test proves.
    fn default() -> Self {
        Self {
            algorithms: Algorithm::ALL.to_vec(),
            in_use: None,
            pool: PoolRules::default(),
            requests: Some(100_000),
            warm_up: 10_000,
            seed: 1,
            seeds: 5,
            rank_by: Measure::P99,
            arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(0.8) },
            service: Service::default(),
            static_share: 0.0,
            clients: Population { count: 10_000, zipf: 0.0 },
            uris: Population { count: 10_000, zipf: 1.0 },
            values: None,
            priorities: Vec::new(),
            balancer: BalancerPlan::default(),
            groups: vec![Group::default()],
        }
    }
}

impl Default for Service {
    fn default() -> Self {
        Self { law: ServiceLaw::Exponential, mean: SimTime(10_000_000) }
    }
}

impl Default for BalancerPlan {
    fn default() -> Self {
        Self {
            workers: 1,
            key: SimKey::default(),
            retries: 2,
            retries_lost: false,
            retry_budget: None,
            queue: SimTime(1_000_000_000),
            queue_length_max: None,
            server_queue_max: None,
            is_fair: false,
            connections_max: None,
            sticky: None,
            slow_start: None,
            auto_weight: FoundWeights::default(),
            concurrency: None,
            ejection: None,
            breaker: None,
            hedge: None,
            down_after: SimTime(6_000_000_000),
            up_after: SimTime(4_000_000_000),
            network: SimTime(0),
        }
    }
}

impl Default for StickySessions {
    fn default() -> Self {
        Self {
            size: 100_000,
            expire: SimTime(30 * 60 * 1_000_000_000),
            life_max: None,
            when_gone: WhenGone::Redispatch,
            when_busy: WhenBusy::Wait,
        }
    }
}

impl Default for FoundWeights {
    fn default() -> Self {
        let rule = AutoWeightRule { min: Weight::ONE, max: Weight::MAX, requests_min: 20 };
        Self { interval: Millis::from_secs(30), rule }
    }
}

impl Default for Group {
    fn default() -> Self {
        Self {
            name: "servers".to_owned(),
            count: 10,
            speed: 1.0,
            static_speed: None,
            concurrency: 1,
            sharing: Sharing::Fifo,
            weight: Weight::ONE,
            auto_weight: None,
            backup: false,
            priority: 0,
            is_remote: false,
            connections_max: None,
            added: SimTime(0),
            cache: None,
            disturbances: Vec::new(),
            agent: Vec::new(),
        }
    }
}
