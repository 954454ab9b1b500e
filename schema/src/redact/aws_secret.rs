//! Rule `aws_secret`: AWS secret keys and session tokens behind their name: 40 or more base64 characters.

use super::rule::{Cases, compile};
use super::shape::Shape;
use std::sync::LazyLock;

/// See the module.
pub(super) static RULE: Shape = Shape {
    name: "aws_secret",
    hint: "(?i)aws|secret|access|session",
    pattern: LazyLock::new(|| {
        compile(
            r#"(?i)(?:aws|secret|access|session)[A-Za-z0-9_. -]{0,40}["']?[ \t]*(?:=>|[=:])[ \t]*["']?([A-Za-z0-9/+]{40,}=*)"#,
        )
    }),
    cases: Cases {
        masks: &[
            ("aws: wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEYabcd", "aws: <aws_secret-1>"),
            (
                "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
                "AWS_SECRET_ACCESS_KEY=<aws_secret-1>",
            ),
            (
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                "aws_secret_access_key = <aws_secret-1>",
            ),
            (
                r#""SecretAccessKey": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY""#,
                r#""SecretAccessKey": "<aws_secret-1>""#,
            ),
            (
                "'SessionToken': 'IQoJb3JpZ2luX2VjEAAaCXVzLWVhc3QtMSJHMEUCIQDabcdefgh=='",
                "'SessionToken': '<aws_secret-1>'",
            ),
        ],
        keeps: &[
            "aws region us-east-1",
            "access log written",
            "aws_secret=",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "session: start",
        ],
    },
};
