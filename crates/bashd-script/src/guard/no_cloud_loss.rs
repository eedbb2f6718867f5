//! `no_cloud_loss`: deletes what runs or is stored at a provider.

use super::concern::ProgramCall;
use super::options::has_short;
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::Word;

pub(super) const RULE: Rule = Rule {
    name: "no_cloud_loss",
    denies: "asks about terraform destroy, aws, gcloud and az deletions, s3 rb and rm --recursive, gh repo delete",
    message: "this deletes cloud resources or stored data that no local copy can restore",
    instead: "Look first (terraform plan, aws s3 ls, --dry-run), then let a person delete it",
    example: "terraform destroy -auto-approve",
    judge: RuleJudge::Each(&[
        Concern::Tools(ROWS),
        Concern::Programs {
            names: &["curl", "http", "https", "xh"],
            judge: deletes_by_request,
        },
        Concern::Programs {
            names: &["gh"],
            judge: |call| {
                // One run by its number is ordinary work, a list of them is not.
                let mut words = call.words.iter();
                let deletes = words.any(|word| word.is("run")) && words.any(|it| it.is("delete"));
                Decision::ask_if(deletes && words.any(|word| word.known().is_none()))
            },
        },
    ]),
};

const TERRAFORM: &[&str] = &["terraform", "tofu", "terragrunt", "cdktf"];

const ROWS: &[ToolRow] = &[
    asks(TERRAFORM, "destroy"),
    asks(TERRAFORM, "apply").with(&["-destroy", "--destroy"]),
    asks(TERRAFORM, "state rm"),
    asks(TERRAFORM, "run-all|run destroy"),
    asks(TERRAFORM, "workspace delete"),
    asks(TERRAFORM, "force-unlock"),
    asks(TERRAFORM, "state push"),
    asks(&["cloudflared"], "tunnel delete|cleanup"),
    asks(&["gcloud"], "service-accounts keys create"),
    asks(&["pulumi"], "destroy|down|dn"),
    asks(&["pulumi"], "stack rm"),
    asks(&["cdk"], "destroy"),
    asks(&["sls", "serverless"], "remove"),
    asks(&["sam"], "delete"),
    asks(&["eksctl"], "delete"),
    asks(&["kops"], "delete"),
    asks(&["copilot"], "app|env|svc delete"),
    asks(&["eb"], "terminate"),
    asks(&["aws"], "s3 rb"),
    asks(&["aws"], "s3 rm").with(&["--recursive"]),
    // What a build has made can be made again: a site is published that way.
    asks(&["aws"], "s3 sync").with(&["--delete"]).without(BUILT),
    asks(&["aws"], "s3api delete-*"),
    asks(
        &["aws"],
        "ec2 terminate-instances|delete-*|deregister-image|release-address",
    ),
    asks(&["aws"], "rds delete-*|reboot-*"),
    asks(&["aws"], "dynamodb delete-table|delete-backup"),
    asks(&["aws"], "cloudformation delete-stack|delete-stack-set"),
    asks(&["aws"], "iam delete-*|detach-*|remove-*|create-access-key"),
    asks(
        &["aws"],
        "eks|ecs|ecr|lambda|kms|route53|efs|elb|elbv2|sqs|sns|logs|backup|glacier|redshift|elasticache|secretsmanager|organizations|cloudtrail|guardduty delete-*|schedule-key-deletion|batch-delete-image|deregister-*|stop-logging|leave-organization|close-account",
    ),
    asks(&["gcloud"], "delete|destroy"),
    asks(&["gcloud"], "storage rm").with(&["-r", "-R", "--recursive"]),
    asks(&["gsutil"], "rb"),
    asks(&["gsutil"], "rm").with(&["-r", "-R"]),
    asks(&["gsutil"], "rsync").with(&["-d"]).without(BUILT),
    asks(&["bq"], "rm"),
    asks(&["az"], "delete|purge|delete-batch"),
    asks(&["aws"], "delete-*|terminate-*|destroy-*|purge-*").without(&[
        "delete-message*",
        "delete-item",
        "delete-tags",
        "delete-log-stream",
        "delete-alarms",
    ]),
    asks(&["azd"], "down"),
    asks(&["b2"], "delete-bucket|delete-file-version|rm"),
    asks(&["b2"], "bucket delete"),
    asks(&["s5cmd"], "rm|rb"),
    asks(CLOUDS, DELETIONS),
    asks(&["circleci"], "context delete|remove-secret"),
    asks(&["talosctl"], "reset"),
    asks(&["clusterctl", "rosa", "gardenctl", "capsule"], "delete"),
    asks(&["confluent", "ccloud"], "delete"),
    asks(&["atlas", "mongocli"], "delete|terminate"),
    asks(&["doppler"], "delete"),
    asks(&["infisical"], "secrets delete"),
    asks(&["op"], "item|vault|document|user|group delete"),
    asks(&["bw"], "delete"),
    asks(&["dvc"], "gc").with(&["-c", "--cloud"]),
    asks(&["ceph"], "osd purge|destroy"),
    asks(&["ceph"], "osd pool delete|rm"),
    asks(&["ceph"], "fs rm"),
    asks(&["rbd"], "rm|remove"),
    asks(&["rados"], "purge|rmpool"),
    asks(&["gluster"], "volume delete"),
    asks(&["hdfs", "hadoop"], "").with(&["-rmr", "-expunge"]),
    asks(&["hdfs", "hadoop"], "-rm -r").without(&["/tmp/*"]),
    asks(&["hdfs"], "namenode").with(&["-format"]),
    asks(&["gh"], "repo edit")
        .with(&["--visibility"])
        .without(&["private"]),
    asks(&["zkCli.sh"], "deleteall|rmr"),
    asks(&["azcopy"], "remove|rm"),
    asks(&["doctl"], "delete|rm|d").with(&["-f", "--force"]),
    asks(&["doctl"], "delete"),
    asks(
        &["linode-cli", "hcloud", "vultr-cli", "scw", "exo", "civo"],
        "delete|rm|terminate",
    ),
    asks(&["oci"], "delete|terminate"),
    asks(&["ibmcloud"], "delete|rm|*-delete|*-rm"),
    asks(
        &["heroku"],
        "apps:destroy|pg:reset|addons:destroy|destroy|pg:kill|redis:destroy|pipelines:destroy",
    ),
    asks(&["fly", "flyctl"], "destroy|delete"),
    asks(&["vercel", "now"], "remove|rm"),
    asks(&["netlify"], "sites:delete|unlink"),
    asks(&["railway"], "delete|down"),
    asks(&["render"], "delete"),
    asks(&["wrangler"], "delete"),
    asks(&["supabase"], "projects delete"),
    asks(&["supabase"], "db reset").with(&["--linked", "--db-url"]),
    asks(
        &["firebase"],
        "firestore:delete|database:remove|projects:delete|hosting:disable|functions:delete",
    ),
    asks(&["neonctl", "neon", "pscale", "turso"], "delete|destroy"),
    asks(&["cf"], "delete|delete-org|delete-space|delete-service").with(&["-f", "-r"]),
    asks(&["gh"], "repo delete|archive"),
    asks(
        &["gh"],
        "release|secret|variable|gist|ssh-key|gpg-key|cache delete",
    ),
    asks(&["gh"], "api").with(&["DELETE", "-XDELETE", "--method=DELETE"]),
    asks(&["gh"], "release delete-asset"),
    asks(&["glab"], "api").with(&["DELETE", "-XDELETE", "--method=DELETE"]),
    asks(
        &["glab"],
        "repo|project|ci|release|variable|issue|mr|ssh-key|schedule delete",
    ),
    // Who may do what in a repository.
    asks(
        &["gh"],
        "api */protection|*/permissions|*/permissions/workflow|*/permissions/access|*/rulesets",
    )
    .with(&[
        "PUT",
        "PATCH",
        "POST",
        "-XPUT",
        "-XPATCH",
        "-XPOST",
        "--method=PUT",
        "--method=PATCH",
        "--method=POST",
    ]),
    asks(&["hub"], "delete"),
    asks(&["s3cmd"], "rb"),
    asks(&["s3cmd"], "del|rm").with(&["--recursive", "-r"]),
    asks(&["mc"], "rb"),
    asks(&["mc"], "rm").with(&["--recursive", "-r"]),
    asks(&["vault"], "delete|destroy"),
    asks(&["vault"], "kv delete|destroy|metadata"),
    asks(&["vault"], "operator seal"),
    asks(&["vault"], "secrets|auth disable"),
    asks(&["consul"], "kv delete").with(&["-recurse"]),
    asks(&["ansible"], "").with(&["rm -rf*"]),
    asks(&["ansible"], "file *state=absent|state=absent*"),
    asks(&["aws"], "autoscaling update-auto-scaling-group 0 0"),
    asks(TERRAFORM, "apply").with(&["-replace*", "--replace*"]),
    asks(&["sst"], "remove"),
    asks(&["qm", "pct"], "destroy"),
    asks(&["proxmox-backup-client"], "forget|prune"),
    asks(&["gh"], "issue delete"),
    asks(&["nats"], "stream|consumer|kv|object rm|purge|del"),
    asks(&["packer"], "destroy"),
    asks(&["vagrant"], "destroy").with(&["-f", "--force"]),
    asks(&["stripe"], "delete"),
    asks(&["kafka-topics", "kafka-topics.sh"], "").with(&["--delete"]),
    asks(&["rabbitmqadmin"], "purge|delete"),
    asks(
        &["rabbitmqctl"],
        "reset|force_reset|delete_vhost|delete_user|purge_queue",
    ),
];

/// Programs of providers that have no row of their own.
const CLOUDS: &[&str] = &[
    "openstack",
    "aliyun",
    "tccli",
    "upctl",
    "yc",
    "koyeb",
    "northflank",
    "avn",
    "databricks",
    "snow",
    "metal",
    "ovhcloud",
    "clever",
    "scalingo",
    "dokku",
    "caprover",
    "kamal",
    "temporal",
    "upstash",
    "xata",
    "convex",
    "appwrite",
    "nhost",
    "amplify",
    "tkn",
];

/// How they call what can't be taken back.
const DELETIONS: &str =
    "delete|destroy|terminate|purge|Delete*|Terminate*|*:destroy|*:delete|rm|remove";

/// Directories that builds fill.
const BUILT: &[&str] = &[
    "dist",
    "dist/",
    "./dist",
    "./dist/",
    "dist/*",
    "build",
    "build/",
    "./build",
    "./build/",
    "out",
    "out/",
    "./out",
    "./out/",
    "public",
    "public/",
    "./public",
    "./public/",
    "_site",
    "_site/",
    "./_site",
    "site",
    "site/",
    "./site",
    "./site/",
    ".output/*",
    "target/*",
];

/// A request that deletes a repository, an index, or everything of a service.
fn deletes_by_request(call: &ProgramCall<'_>) -> Decision {
    let known: Vec<&str> = call.words.iter().filter_map(Word::known).collect();
    let deletes = known
        .iter()
        .any(|text| matches!(*text, "DELETE" | "-XDELETE" | "--request=DELETE"))
        && (known
            .iter()
            .any(|text| text.starts_with("-X") || text.starts_with("--request"))
            || call.words.iter().any(|word| has_short(word, "X", ""))
            || matches!(call.command.name(), Some("http" | "https" | "xh")));
    let all = [
        "/_all",
        "/*",
        "api.github.com/repos/",
        "gitlab.com/api/v4/projects/",
        "/api/v1/namespaces/",
        "cloudflare.com/client/v4/zones/",
    ];
    let mut texts = call.words.iter().map(|word| {
        let whole = word.literal_or_glob();
        whole.unwrap_or_else(|| word.known_beginning().into())
    });
    let is_all = |text: &str| {
        let is_pattern = text.contains(":9200/") && text.ends_with('*');
        is_pattern || all.iter().any(|part| text.contains(part))
    };
    Decision::ask_if(deletes && texts.any(|text| is_all(&text)))
}
