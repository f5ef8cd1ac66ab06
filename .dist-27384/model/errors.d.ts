import { WhetstoneError } from '../errors/index.js';
export { ModelError } from '../decoder/index.js';
/** A number that is not finite: of an output, or of a gradient, which is found before it changes any weight. */
export declare class NonFiniteError extends WhetstoneError {
    /** Which sequence of the call it belongs to. */
    readonly sequence: number;
    name: string;
    constructor(what: 'the output' | 'the gradient', 
    /** Which sequence of the call it belongs to. */
    sequence: number, options?: ErrorOptions & {
        call?: number;
    });
}
