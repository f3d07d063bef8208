//! Receivers that apportion their links, and marks of the ports in front of them.

use fairlane_congestion::Scope;
use fairlane_congestion::dasr::Mode;

use super::Check;
use super::limits::fail;
use crate::types::{Scenario, Service};

pub(super) fn check(scenario: &Scenario) -> Check {
    let place = "congestion.dasr.mode";
    let (stated, congestion) = (scenario.congestion.dasr.mode, &scenario.congestion);
    let reliable = scenario.transport.service == Service::Rc;
    if stated.is_on() && !reliable {
        let message =
            format!("is \"{stated}\", expected \"off\" over a service without acknowledgements");
        let hint = "shares come back in acknowledgements: use transport.service \"rc\"";
        return fail(place, message, hint);
    }
    let shares = congestion.scope == Scope::Tenant && congestion.tenant.shares;
    if shares && !reliable {
        let message = "is true, expected false over a service without acknowledgements";
        let hint = "shares come back in acknowledgements: use transport.service \"rc\", or do without them";
        return fail("congestion.tenant.shares", message, hint);
    }
    if shares && stated == Mode::Window {
        let message = "is \"window\", expected one that divides beside congestion.tenant.shares";
        let hint =
            "leave it out, which is \"demand-aware\", or set congestion.tenant.shares = false";
        return fail(place, message, hint);
    }
    Ok(())
}
