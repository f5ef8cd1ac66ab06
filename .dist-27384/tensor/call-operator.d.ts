/** Any operator libtorch knows, by name: for the many that have no typed method. */
import { GeneratorRef, Ref } from './call.js';
type OperatorValue = Ref | GeneratorRef | number | bigint | boolean | string | null | undefined;
/** One value, a list of them, or, as the last argument, values by their names in the schema. */
export type OperatorArgument = OperatorValue | readonly OperatorValue[] | Readonly<Record<string, OperatorValue | readonly OperatorValue[]>>;
/** Whether this libtorch has an operator of that name: for what came with a later version. */
export declare function operatorExists(name: string): boolean;
/**
 * Calls an operator by its name in libtorch, `aten::` unless another namespace is given, with the overload after a dot.
 * Arguments are converted by its schema: dtypes, devices, layouts and memory formats are given by name, `undefined` stands
 * for the schema's default, and a last plain object gives arguments by name. One result comes back as itself, several as an
 * array; an in-place operator gives the tensor it wrote.
 *
 * ```ts
 * const inverse = callOperator('linalg_inv', matrix) as Tensor
 * const [values, vectors] = callOperator('aten::linalg_eigh', matrix, { UPLO: 'U' }) as [Tensor, Tensor]
 * ```
 */
export declare function callOperator(name: string, ...args: OperatorArgument[]): unknown;
export {};
