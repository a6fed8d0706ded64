grammar Dtl;
program : EOF ;
NAME : [a-z]+ ;
