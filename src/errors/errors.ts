/**
 * An error whose message is all that a person needs: what is wrong with what, and what to do about it. The command line
 * prints the message alone; any other error is a defect, and is printed with its stack.
 *
 * Each room has its own kinds (a model directory that cannot be used, a tokenizer file that is damaged, a setup step that
 * cannot go on); they extend this one, so that whoever shows errors needs to know nothing else.
 */
export class WhetstoneError extends Error {
  override name = 'WhetstoneError'
}

/** What a person gave (a file, a line of a file, a directory) cannot be used as it is. The message names it. */
export class InputError extends WhetstoneError {
  override name = 'InputError'
}
