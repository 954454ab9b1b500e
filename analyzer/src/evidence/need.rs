//! What a check may lack, and how whoever reads that can have it next time.

use super::{Form, Missing};

/// A part of the evidence that checks rest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// A metrics reading from before the load.
    Before,
    /// One from after it.
    After,
    /// Either.
    Metrics,
    /// Samples during the load.
    Samples,
    /// The load tool's result.
    Result,
    /// The server's log.
    Log,
}

impl Need {
    /// How to give it to a run of that form; empty where the words before say all there is to say.
    pub fn remedy(self, form: Form) -> &'static str {
        match (form, self) {
            (Form::Loose, Self::Before) => " (give it with --before)",
            (Form::Loose, Self::After) => " (give it with --after)",
            (Form::Loose, Self::Metrics) => " (give them with --before and --after)",
            (Form::Loose, Self::Samples) => " (give samples with --series)",
            (Form::Loose, Self::Result) => " (give it with --result)",
            (Form::Loose, Self::Log) => " (give it with --boot-log)",
            (Form::Folder, Self::Before) => " (before.snapshot.json)",
            (Form::Folder, Self::After) => " (after.snapshot.json)",
            (Form::Folder, Self::Metrics) => " (before.snapshot.json, after.snapshot.json)",
            (Form::Folder, Self::Samples) => " (run.series.jsonl)",
            (Form::Folder, Self::Result) => " (bench.json)",
            (Form::Folder, Self::Log) => " (boot.log)",
            // Files named beside a bundle are a run of their own.
            (Form::Bundle, Self::Metrics) => " (record them with --url)",
            (Form::Bundle, Self::Result) => " (record it with xray --result)",
            (Form::Bundle, Self::Log) => " (record it with xray --serve or --log)",
            (Form::Bundle, Self::Before | Self::After | Self::Samples) => "",
        }
    }

    /// That a run of that form lacks it.
    pub fn lacking(self, form: Form) -> Missing {
        let what = match self {
            Self::Before => "no metrics reading from before the load",
            Self::After => "no metrics reading from after the load",
            Self::Metrics => "no metrics were read",
            Self::Samples => "no metrics were sampled during the load",
            Self::Result => "no result file of the load tool",
            Self::Log => "needs the server's log",
        };
        Missing::lack(format!("{what}{}", self.remedy(form)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_fits_the_form_of_the_input() {
        for (form, need, what) in [
            (Form::Loose, Need::Result, "no result file of the load tool (give it with --result)"),
            (Form::Folder, Need::Result, "no result file of the load tool (bench.json)"),
            (Form::Bundle, Need::Before, "no metrics reading from before the load"),
            (
                Form::Bundle,
                Need::Log,
                "needs the server's log (record it with xray --serve or --log)",
            ),
        ] {
            assert_eq!(need.lacking(form).what, what);
        }
        // No flag of the analyzer adds anything to a bundle or a folder.
        for form in [Form::Folder, Form::Bundle] {
            for need in [Need::Before, Need::After, Need::Metrics, Need::Samples, Need::Result] {
                assert!(!need.remedy(form).contains("give"), "{form:?} {need:?}");
            }
        }
    }
}
