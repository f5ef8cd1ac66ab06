/** Loaded before a command that serves a chat: its input ends when the dashboard does, however that ended, and so does the command. */
process.stdin.on('close', () => process.kill(process.pid, 'SIGTERM'))
process.stdin.resume()
// The command itself may be done before.
;(process.stdin as typeof process.stdin & { unref?(): void }).unref?.()

export {}
