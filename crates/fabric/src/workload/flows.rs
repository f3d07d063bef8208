//! Messages one by one.

use fairlane_scenario::{Error, Flow};
use fairlane_units::{Bytes, MessageId, Time};

use super::context::{Context, Messages};
use crate::MessageSpec;

/// The messages of a list, which is in order of start.
pub(super) fn flows(
    context: &Context<'_>,
    list: &[Flow],
    messages: &mut Messages,
) -> Result<(), Error> {
    let mut latest = Time::ZERO;
    for (index, flow) in list.iter().enumerate() {
        let message = message(context, flow).map_err(|error| at(context, index, &error))?;
        if message.start < latest {
            let text = format!("is {}, earlier than the message before", message.start);
            let error = context.error("start", text, "list messages in order of start");
            return Err(at(context, index, &error));
        }
        latest = message.start;
        for part in parts(message, flow.subflows, messages.next_index()) {
            messages
                .push(context, part)
                .map_err(|error| at(context, index, &error))?;
        }
    }
    Ok(())
}

/// The parts of a message that will have the indices from `first` on: as equal as can be.
fn parts(message: MessageSpec, count: u32, first: u32) -> impl Iterator<Item = MessageSpec> {
    let whole = message.size.get();
    let count = u64::from(count).clamp(1, whole);
    (0..count).map(move |part| MessageSpec {
        size: Bytes::new(whole / count + u64::from(part < whole % count)),
        part_of: (count > 1).then_some(MessageId::new(first)),
        // Parts have queue pairs of their own.
        connection: message.connection.filter(|_| count == 1),
        ..message
    })
}

fn message(context: &Context<'_>, flow: &Flow) -> Result<MessageSpec, Error> {
    let source = context.host(flow.source, "source")?;
    let destination = context.host(flow.destination, "destination")?;
    if source == destination {
        let hint = "send to another host";
        return Err(context.error("destination", format!("is the source, host {source}"), hint));
    }
    let template = context.template(flow.size, flow.start, flow.class)?;
    Ok(MessageSpec {
        source,
        destination,
        destination_port: flow.destination_port,
        ..template
    })
}

/// The error of one message, placed at its key.
fn at(context: &Context<'_>, index: usize, error: &Error) -> Error {
    let key = error.place.rsplit('.').next().unwrap_or_default();
    context.error(
        &format!("flow[{index}].{key}"),
        error.message.as_str(),
        &error.hint,
    )
}
