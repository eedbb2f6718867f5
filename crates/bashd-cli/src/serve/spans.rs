//! Spans of a server's calls, if its configuration names a collector.

use crate::failure::{Failure, FailureKind};
use bashd::Config;
#[cfg(feature = "otlp")]
use bashd::otlp::{SpanSender, SpanSettings};

/// Sends spans for as long as it is there.
#[derive(Clone, Default)]
pub(crate) struct ServerSpans {
    #[cfg(feature = "otlp")]
    _sender: Option<std::sync::Arc<SpanSender>>,
}

impl ServerSpans {
    /// Has an engine with this configuration tell of its calls.
    #[cfg(feature = "otlp")]
    pub(crate) fn start(config: &mut Config) -> Result<Self, Failure> {
        let Some(endpoint) = config.otlp_endpoint.clone() else {
            return Ok(Self::default());
        };
        let settings = SpanSettings::new(endpoint, env!("CARGO_PKG_VERSION"));
        let settings = settings.with_commands(config.otlp_commands);
        let failed = |error: std::io::Error| Failure::new(FailureKind::Usage, error.to_string());
        let sender = SpanSender::start(settings).map_err(failed)?;
        config.on_record = Some(sender.listener());
        Ok(Self {
            _sender: Some(std::sync::Arc::new(sender)),
        })
    }

    /// This build has no spans; who wants some is told.
    #[cfg(not(feature = "otlp"))]
    pub(crate) fn start(config: &mut Config) -> Result<Self, Failure> {
        match config.otlp_endpoint {
            None => Ok(Self::default()),
            Some(_) => Err(Failure::new(
                FailureKind::Usage,
                "otlp.endpoint is set, and this bashd was built without the feature `otlp`",
            )),
        }
    }
}
