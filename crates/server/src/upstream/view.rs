//! What there is to see of an upstream, for the admin side. Not here: how it is shown.

use super::Upstream;
use crate::clock;
use samovar_balance::{MemberView, Method};
use samovar_origin::{Gate, GateStats, PoolStats, ReuseAfterBody};

/// An upstream as it is now.
pub struct UpstreamState {
    /// Its name.
    pub name: String,
    /// How a member is chosen.
    pub method: Method,
    /// The bound of all members together; `None` for a single member, whose pool has it.
    pub gate: Option<GateStats>,
    /// Whether a connection is used again after it carried content.
    pub reuse_after_body: ReuseAfterBody,
    /// Its members.
    pub members: Vec<MemberState>,
}

/// A member as it is now.
pub struct MemberState {
    /// What the balancer knows.
    pub view: MemberView,
    /// Where it listens.
    pub address: String,
    /// Its pool.
    pub pool: PoolStats,
    /// Bytes to it since the start.
    pub to_bytes: u64,
    /// Bytes from it since the start.
    pub from_bytes: u64,
}

impl Upstream {
    /// What there is to see.
    pub fn view(&self) -> UpstreamState {
        let balancer = self.balancer();
        let views = balancer.view(clock::mono_ms());
        let method = balancer.settings().method;
        drop(balancer);
        let members = views.into_iter().zip(&self.members).map(|(view, member)| {
            let (to_bytes, from_bytes) = member.server.carried();
            let address = crate::front::show_address(&member.place.address) + &member.place.base_path;
            MemberState { view, address, pool: member.server.stats(), to_bytes, from_bytes }
        });
        UpstreamState {
            name: self.settings.name.clone(),
            method,
            gate: self.gate.as_ref().map(Gate::stats),
            reuse_after_body: self.settings.limits.reuse_after_body,
            members: members.collect(),
        }
    }
}
