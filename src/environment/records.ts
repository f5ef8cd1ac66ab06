/** What journals have of episodes, read without the engines that made them: it loads no libtorch. */
export { restartedRecords } from './journal.js'
export { RecordedAttempt } from './recorded.js'
