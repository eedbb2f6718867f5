// Written by `bashd init --hook`; `bashd init --uninstall` removes it.
// Asks bashd's guard before opencode's own shell runs a command. Whatever goes wrong blocks it.
import { execFile } from "node:child_process"

const ask = (event) =>
  new Promise((resolve) => {
    const options = { timeout: PATIENCE_S * 1000, killSignal: "SIGKILL" }
    const child = execFile(PROGRAM_AS_JSON, ["hook", "opencode"], options, (error, _, stderr) =>
      resolve(error ? stderr.trim() || NO_VERDICT : ""),
    )
    child.stdin.on("error", () => {})
    child.stdin.end(event)
  })

export const BashdGuard = async () => ({
  "tool.execute.before": async (input, output) => {
    if (input.tool !== "bash") return
    const objection = await ask(JSON.stringify({ tool: input.tool, args: output.args }))
    if (objection) throw new Error(objection)
  },
})
