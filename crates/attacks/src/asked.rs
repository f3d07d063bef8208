//! A suite by names, as somebody asks for it.

use fairlane_congestion::Scope;
use fairlane_scenario::{Attack, AttackKind, Error, Loaded};

use crate::suite::Suite;

/// In place of a name: every attack, or every scope.
const ALL: &str = "all";

/// What is to be tried; places in errors are flags of the command.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// An attack, or `all`.
    pub attack: &'a str,
    /// A scope, or `all`.
    pub scope: &'a str,
    /// The tenant that attacks; by default that of the scenario's attack, else the first.
    pub attacker: Option<&'a str>,
    /// How many seeds.
    pub seeds: u32,
}

impl Asked<'_> {
    /// The suite, and what was left out of `all` since the scenario can't have it.
    ///
    /// # Errors
    /// If there is no such attack, scope or tenant, or the scenario can't have what was asked for by name.
    pub fn suite(&self, loaded: Loaded) -> Result<(Suite, Vec<String>), Error> {
        let scopes = scopes(self.scope)?;
        let kinds = kinds(self.attack)?;
        let stated = loaded.scenario.attack.clone();
        let stated = stated.as_ref();
        if kinds == [AttackKind::Paced] && stated.is_none_or(|it| it.rate.is_none()) {
            let hint = "--set 'attack={kind=\"paced\",rate=\"20Gbps\"}'; under attacks that rotate destinations the \
                        rate is that of the attack";
            let message = "\"paced\" needs the payload rate of each host";
            return Err(Error::new("--attack", message, hint));
        }
        let attack =
            |kind: &AttackKind| stated.map_or_else(|| Attack::new(*kind), |it| it.of_kind(*kind));
        let attacker = self.attacker(&loaded)?;
        let mut suite = Suite {
            attacks: kinds.iter().map(attack).collect(),
            scenarios: vec![loaded],
            attacker,
            scopes,
            seeds: self.seeds,
        };
        let mut left_out = Vec::new();
        self.leave_out_scopes(&mut suite, &mut left_out)?;
        self.leave_out_attacks(&mut suite, &mut left_out)?;
        Ok((suite, left_out))
    }

    fn attacker(&self, loaded: &Loaded) -> Result<String, Error> {
        let tenants = loaded.scenario.tenants();
        let names: Vec<&str> = tenants.iter().map(|tenant| tenant.name.as_str()).collect();
        if let Some(name) = self.attacker {
            if names.contains(&name) {
                return Ok(name.to_owned());
            }
            let message = format!("no tenant is called \"{name}\"");
            let hint = format!("the tenants are {}", names.join(", "));
            return Err(Error::new("--attacker", message, hint));
        }
        let stated = loaded.scenario.attack.as_ref();
        let stated = stated.and_then(|attack| attack.tenant.clone());
        Ok(stated.unwrap_or_else(|| names.first().copied().unwrap_or_default().to_owned()))
    }

    /// Removes the scopes that the scenario can't have, if not just one is asked for.
    fn leave_out_scopes(&self, suite: &mut Suite, words: &mut Vec<String>) -> Result<(), Error> {
        let refused = suite.refused_scopes();
        if self.scope != ALL || refused.len() == suite.scopes.len() {
            return refused
                .into_iter()
                .next()
                .map_or(Ok(()), |(_, error)| Err(error));
        }
        for (scope, error) in refused {
            suite.scopes.retain(|other| *other != scope);
            words.push(format!("scope {scope}: {}: {}", error.place, error.message));
        }
        Ok(())
    }

    /// Removes the attacks that the scenario can't have, if not just one is asked for.
    fn leave_out_attacks(&self, suite: &mut Suite, words: &mut Vec<String>) -> Result<(), Error> {
        let refused = suite.refused()?;
        if self.attack != ALL || refused.len() == suite.attacks.len() {
            return refused
                .into_iter()
                .next()
                .map_or(Ok(()), |(_, error)| Err(error));
        }
        for (number, error) in refused.into_iter().rev() {
            let kind = suite.attacks.remove(number).kind;
            words.push(format!("{kind}: {}: {}", error.place, error.message));
        }
        Ok(())
    }
}

fn scopes(name: &str) -> Result<Vec<Scope>, Error> {
    if name == ALL {
        return Ok(Scope::ALL.to_vec());
    }
    let found = Scope::ALL.into_iter().find(|scope| scope.name() == name);
    let names = || Scope::ALL.map(Scope::name).join(", ");
    found.map(|scope| vec![scope]).ok_or_else(|| {
        let message = format!("there is no scope \"{name}\"");
        Error::new("--scope", message, format!("all, or one of {}", names()))
    })
}

/// The kinds of a name; the honest control is no attack, and only tried by its own name.
fn kinds(name: &str) -> Result<Vec<AttackKind>, Error> {
    let mut all = AttackKind::ALL.to_vec();
    if name == ALL {
        all.retain(|kind| *kind != AttackKind::Paced);
        return Ok(all);
    }
    let found = all.into_iter().find(|kind| kind.name() == name);
    found.map(|kind| vec![kind]).ok_or_else(|| {
        let names = AttackKind::ALL.map(AttackKind::name).join(", ");
        let message = format!("there is no attack \"{name}\"");
        Error::new("--attack", message, format!("all, or one of {names}"))
    })
}
