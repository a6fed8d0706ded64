// The grammar of DTL: tokens, then rules in the order of the language page. No actions, no predicates, no modes.
//
// Between lexer and parser stands compiler/syntax/token_filter, which settles what needs a look around:
//   line ends     a NEWLINE reaches the parser only where it parts two statements; inside `{}` a comma and `;` become
//                 NEWLINE too; a comma before `)` or `]` is dropped
//   words         `param` … `as` stay keywords only where a declaration may start (and a name or `{` follows on the line);
//                 everywhere else they arrive as NAME
//   UNIT          `epoch`, `epochs`, `step`, `steps` after a number on the same line; else NAME
//   OPEN_RANGE    `..` with nothing to its right: before `]`, `,`, `)`, `}`, `{` or a line's end
//   ELSE_TEXT     `else` before a text in quotes
//   brackets      arrive balanced, nested at most 256 deep
// The rules are LL(1): no decision needs ANTLR's adaptive prediction, whose tables a process would build anew at each
// start. Where two forms start alike, one rule takes both and the builder of the Ast (compiler/syntax/build_*) tells
// them apart, with a better message than a parser's: arguments and the parameters of a block, tuples and the parameters
// of a lambda. The builder also groups operators by precedence.
grammar Dtl;

tokens { UNIT, OPEN_RANGE, ELSE_TEXT }

// ---- Parser -----------------------------------------------------------------------------------------------------

file : (declaration (NEWLINE declaration)*)? EOF ;

// `--set name=EXPRESSION`, `--strategy EXPRESSION`
fragmentOfExpression : expression EOF ;

// A line of the interactive session that is no declaration.
fragmentOfItem : item EOF ;

// What is still worth reading below a header that is not one.
fragmentOfBody : body EOF ;

declaration
  : importFile
  | parameterOfProgram
  | dataset
  | layer
  | model
  | function
  | optimizer
  | strategy
  | train
  ;

importFile : 'import' STRING ('as' NAME)? ;
parameterOfProgram : 'param' NAME ':' type '=' expression ;
dataset : 'dataset' NAME (body | '=' expression) ;
// One list is the tensors; of two, the first is the hyperparameters. The result type is always written.
layer : 'layer' NAME parameters parameters? '->' type body ;
model : 'model' NAME parameters '->' type body ;
function : 'fn' NAME parameters '->' type body ;
optimizer : 'optimizer' NAME parameters parameters? body ;
strategy : 'strategy' NAME (parameters? body | '=' expression) ;
// `train Long = Short with { epochs = 50 }`
train : 'train' NAME? (body | '=' expression) ;

parameters : '(' (parameter (',' parameter)*)? ')' ;
parameter : NAME (':' type)? ('=' expression)? ;

// One rule for every body; the checker says which items each owner allows. An `if` is an expression: as an item that
// does not end its body it is a statement.
body : '{' (item (NEWLINE item)*)? '}' ;

item
  : 'let' pattern (':' type)? '=' expression
  | 'weight' NAME ':' type '=' expression
  | 'state' NAME (':' type)? '=' expression
  | 'for' pattern 'in' expression body
  | 'require' expression ELSE_TEXT STRING
  | expression tail?
  ;

// `name = value`, `name <- value`, `name (parameters) { … }`
tail
  : '=' expression
  | '<-' expression
  | body
  ;

// `let (a, b) = f(x)`, `for (i, x) in …`
pattern
  : NAME
  | '(' NAME (',' NAME)* ')'
  ;

// From the loosest to the tightest; `=>` and `**` group to the right, the others to the left:
//   =>    |>    or    and    not    == != < <= > >=    ..    + -    * /    - (sign)    **    . () [] with
// `-x ** 2` is `-(x ** 2)`; `not` binds looser than a comparison; a lambda's body extends as far right as it can.
// Comparisons and ranges do not chain.
expression
  : operand (( '=>' | '|>' | 'or' | 'and' | '==' | '!=' | '<' | '<=' | '>' | '>=' | '..' | '+' | '-' | '*' | '/' | '**' ) operand)*
  ;

operand : ('-' | 'not')* primary suffix* ;

suffix
  : '.' NAME
  | '(' (argument (',' argument)*)? ')'
  | '[' subscript (',' subscript)* ']'
  | 'with' record
  ;

// A type stands only in the parameters of a block: `example (image: u8[28, 28], label: u8) { … }`.
argument : expression (':' type)? ('=' expression)? ;

// Only inside `[]` may a range lack an end: `x[2 ..]`, `x[.. 2]`, `x[..]`; `...` stands for any leading axes.
subscript
  : '...'
  | OPEN_RANGE
  | '..' expression
  | expression OPEN_RANGE?
  ;

primary
  : INTEGER UNIT?
  | NUMBER UNIT?
  | SIZE
  | DURATION
  | PERCENT
  | STRING
  | 'true'
  | 'false'
  | NAME
  | '(' (expression (',' expression)*)? ')'
  | '[' (expression (',' expression)*)? ']'
  | record
  | conditional
  | 'per_replica' body
  ;

record : '{' (setting (NEWLINE setting)*)? '}' ;
setting : NAME '=' expression ;

conditional : 'if' expression body ('else' (conditional | body))? ;

// `same | valid | int`: a word or a type. `@` gives a placement: `f32[a, b] @ split(1, over = model)`.
type : alternative ('|' alternative)* ('@' expression)? ;
// A function's `?` is its result's: `(int) -> int?`.
alternative
  : '(' (type (',' type)*)? ')' ('->' alternative | '?')?
  | coreType '?'?
  ;
coreType
  : NAME ('[' (dim (',' dim)*)? ']')?
  | '[' type ']'
  | '{' (typedName (NEWLINE typedName)*)? '}'
  ;
typedName : NAME ':' type ;
dim
  : '...'
  | expression
  ;

// ---- Lexer ------------------------------------------------------------------------------------------------------

// Words that start a declaration: the filter turns them into NAME everywhere else.
PARAM : 'param' ;
DATASET : 'dataset' ;
LAYER : 'layer' ;
MODEL : 'model' ;
FN : 'fn' ;
OPTIMIZER : 'optimizer' ;
STRATEGY : 'strategy' ;
TRAIN : 'train' ;
WEIGHT : 'weight' ;
STATE : 'state' ;
AS : 'as' ;

// Reserved words.
IMPORT : 'import' ;
LET : 'let' ;
IF : 'if' ;
ELSE : 'else' ;
FOR : 'for' ;
IN : 'in' ;
WITH : 'with' ;
REQUIRE : 'require' ;
PER_REPLICA : 'per_replica' ;
TRUE : 'true' ;
FALSE : 'false' ;
AND : 'and' ;
OR : 'or' ;
NOT : 'not' ;

OPEN_PAREN : '(' ;
CLOSE_PAREN : ')' ;
OPEN_BRACKET : '[' ;
CLOSE_BRACKET : ']' ;
OPEN_BRACE : '{' ;
CLOSE_BRACE : '}' ;
COMMA : ',' ;
COLON : ':' ;
DOT : '.' ;
RANGE : '..' ;
ELLIPSIS : '...' ;
QUESTION : '?' ;
AT : '@' ;
BAR : '|' ;
EQUALS : '=' ;
ARROW : '->' ;
FAT_ARROW : '=>' ;
UPDATE : '<-' ;
PIPE : '|>' ;
POWER : '**' ;
STAR : '*' ;
SLASH : '/' ;
PLUS : '+' ;
MINUS : '-' ;
EQUAL : '==' ;
NOT_EQUAL : '!=' ;
LESS : '<' ;
LESS_EQUAL : '<=' ;
GREATER : '>' ;
GREATER_EQUAL : '>=' ;

fragment Digits : [0-9] ('_'? [0-9])* ;
fragment Exponent : [eE] [+-]? [0-9]+ ;
fragment Plain : Digits ('.' Digits)? ;

INTEGER : Digits ;
// A point needs digits on both sides: `0..4` is a range.
NUMBER : Digits '.' Digits Exponent? | Digits Exponent ;
// `kB` and `KB` are 1000 bytes, `KiB` 1024.
SIZE : Plain ('B' | [kK] 'B' | 'MB' | 'GB' | 'TB' | 'KiB' | 'MiB' | 'GiB' | 'TiB') ;
DURATION : Plain ('us' | 'ms' | 's' | 'min' | 'h' | 'd') ;
// Not followed by a letter or a digit (the filter looks): there is no `%` operator.
PERCENT : Plain '%' ;
// `2hours`, `0x10`, `1e`: one token, so that the message shows it whole.
BAD_NUMBER : Plain [a-zA-Z_] [a-zA-Z0-9_]* ;

NAME : [a-zA-Z_] [a-zA-Z0-9_]* ;

// Escapes: \n \t \r \" \\ \u{1F600}. A string ends on its line.
STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
OPEN_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '\\'? ;

NEWLINE : '\r'? '\n' | ';' ;
BLANKS : [ \t\r\f]+ -> skip ;
// `///` documents the declaration, item or parameter below it; the filter tells the two apart.
COMMENT : '//' ~[\r\n]* -> channel(HIDDEN) ;
BAD_CHARACTER : . ;
